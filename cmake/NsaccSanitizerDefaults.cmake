# LLVM's allocators poison memory from inlined code. The LLVM packages were built without
# AddressSanitizer and never unpoison it, so user poisoning and container annotations stay off.
function(nsacc_add_sanitizer_defaults name)
  if("address" IN_LIST NSACC_SANITIZE)
    target_sources(${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/SanitizerDefaults.c")
  endif()
endfunction()
