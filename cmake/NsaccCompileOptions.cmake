# Compiler, linker and sanitizer settings shared by every target.

find_program(NSACC_CCACHE ccache)
if(NSACC_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${NSACC_CCACHE}")
  # What ccache needs for precompiled headers: their macros and times aren't looked at, and a key
  # beside one stands for it (NsaccPrecompiledHeader.cmake).
  set(CMAKE_CXX_COMPILER_LAUNCHER
      /usr/bin/env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_PCH_EXTSUM=1 "${NSACC_CCACHE}")
endif()

# Executables are compiled like libraries, so that one precompiled header serves both.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE "${CMAKE_CXX_COMPILE_OPTIONS_PIC}")

# Directory-wide because mlir_tablegen reads its include path from here.
include_directories(
  "${PROJECT_SOURCE_DIR}/include"
  "${PROJECT_SOURCE_DIR}/dialects"
  "${PROJECT_BINARY_DIR}/include"
  "${PROJECT_BINARY_DIR}/dialects")
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(NSACC_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${NSACC_LLVM_DEFINITIONS})

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wimplicit-fallthrough
                    -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options(-fcolor-diagnostics "SHELL:-Xclang -fno-pch-timestamp")
endif()
if(NSACC_WERROR)
  add_compile_options(-Werror)
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=lld NSACC_HAVE_LLD)
if(NSACC_HAVE_LLD)
  add_link_options(-fuse-ld=lld)
endif()
add_link_options(-Wl,--gc-sections -Wl,--as-needed)
if(NSACC_HAVE_LLD AND CMAKE_BUILD_TYPE STREQUAL "Release")
  # icf=safe would keep most of LLVM's identical template instances; nothing here compares
  # function addresses.
  add_link_options(-Wl,--icf=all)
endif()

if(NSACC_SANITIZE)
  list(JOIN NSACC_SANITIZE "," sanitizers)
  # vptr and function checks need type data that the LLVM packages were built without. Null pointers
  # and the ends of objects are AddressSanitizer's business, too: to check them twice makes the
  # build a quarter longer.
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize=vptr,function,null,object-size
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers} -fno-sanitize=vptr,function)
endif()
if(NSACC_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "NSACC_BUILD_FUZZERS needs clang: configure with the asan preset.")
  endif()
endif()
