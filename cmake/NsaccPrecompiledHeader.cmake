# One precompiled header of LLVM's, MLIR's and the standard library's headers for every target that
# uses MLIR: their parsing was nearly all of a build's time. Each build tree makes it once.

option(NSACC_PRECOMPILED_HEADER "Compile the headers of LLVM and MLIR once (needs clang)" ON)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(NSACC_PRECOMPILED_HEADER OFF)
endif()

# What stands in the header's key names all that its content depends on. ccache reads the key instead
# of 200 MB for each source, and so clones in other folders share objects.
function(nsacc_write_precompiled_key name)
  file(SHA256 "${PROJECT_SOURCE_DIR}/cmake/Precompiled/Precompiled.h" header)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  get_directory_property(options COMPILE_OPTIONS)
  get_directory_property(definitions COMPILE_DEFINITIONS)
  file(CONFIGURE OUTPUT "CMakeFiles/${name}.dir/cmake_pch.hxx.pch.sum" @ONLY CONTENT
       "${header} ${LLVM_PACKAGE_VERSION} ${MLIR_INCLUDE_DIRS} ${CMAKE_CXX_COMPILER} \
${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${options} ${definitions} \
${NSACC_BUILD_TESTS}\n")
endfunction()

if(NSACC_PRECOMPILED_HEADER)
  # Without CMake's second include of the header's text, whose absolute path ccache would look at.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
  add_library(nsacc_precompiled OBJECT cmake/Precompiled/Precompiled.cpp)
  target_include_directories(nsacc_precompiled PRIVATE cmake/Precompiled)
  target_precompile_headers(nsacc_precompiled PRIVATE <Precompiled.h>)
  if(NSACC_BUILD_TESTS)
    target_precompile_headers(nsacc_precompiled PRIVATE <gtest/gtest.h>)
  endif()
  nsacc_write_precompiled_key(nsacc_precompiled)
endif()

# For the functions of AddNsacc.cmake, with their arguments. The header is compiled with the options
# of all: a target with options of its own can't use it.
function(nsacc_use_precompiled_header name)
  if(NSACC_PRECOMPILED_HEADER AND NOT ARG_WITHOUT_MLIR AND NOT ARG_COMPILE_OPTIONS)
    target_precompile_headers(${name} REUSE_FROM nsacc_precompiled)
  endif()
endfunction()
