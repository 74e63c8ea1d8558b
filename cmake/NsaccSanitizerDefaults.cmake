# LLVM's allocators poison memory from inlined code. The LLVM packages were built without
# AddressSanitizer and never unpoison it, so user poisoning and container annotations stay off.
#
# A target of its own: those that use the precompiled header have no sources of C.
function(nsacc_add_sanitizer_defaults name)
  if("address" IN_LIST NSACC_SANITIZE)
    if(NOT TARGET nsacc_sanitizer_defaults)
      add_library(nsacc_sanitizer_defaults OBJECT "${PROJECT_SOURCE_DIR}/cmake/SanitizerDefaults.c")
    endif()
    target_link_libraries(${name} PRIVATE nsacc_sanitizer_defaults)
  endif()
endfunction()
