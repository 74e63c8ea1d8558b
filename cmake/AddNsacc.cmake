include(NsaccSanitizerDefaults)
include(NsaccPrecompiledHeader)
include(NsaccUnityBuild)

# add_nsacc_library(NAME SRC... [WITHOUT_MLIR] [COMPILE_OPTIONS OPTION...] [DEPENDS TARGET...]
#                   [LINK_LIBS [PUBLIC|PRIVATE] LIB...])
# A static, position independent library. DEPENDS names the targets that generate its headers;
# what links the library waits for them too. WITHOUT_MLIR: it links no MLIR, so that it can't be
# compiled with MLIR's headers, whose inline functions call it.
function(add_nsacc_library name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "WITHOUT_MLIR" "" "COMPILE_OPTIONS;DEPENDS;LINK_LIBS")
  nsacc_check_arguments(add_nsacc_library ${name})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${ARG_COMPILE_OPTIONS})
  nsacc_link(${name} PUBLIC)
  nsacc_use_precompiled_header(${name})
  nsacc_group_sources(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# add_nsacc_dialect_library(NAME SRC... [DEPENDS ...] [LINK_LIBS ...])
function(add_nsacc_dialect_library name)
  add_nsacc_library(${name} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY NSACC_DIALECT_LIBS ${name})
endfunction()

# add_nsacc_tool(NAME SRC... [DEPENDS ...] [LINK_LIBS ...]): an executable in bin/.
function(add_nsacc_tool name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "WITHOUT_MLIR" "" "COMPILE_OPTIONS;DEPENDS;LINK_LIBS")
  nsacc_check_arguments(add_nsacc_tool ${name})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  nsacc_link(${name} PRIVATE)
  nsacc_use_precompiled_header(${name})
  nsacc_group_sources(${name})
  nsacc_add_sanitizer_defaults(${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY NSACC_TOOLS ${name})
endfunction()

# add_nsacc_unittest(NAME SRC... [WITHOUT_MLIR] [LINK_LIBS ...]): a GoogleTest executable that lit discovers.
# NAME ends in `Tests`.
function(add_nsacc_unittest name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "WITHOUT_MLIR" "" "COMPILE_OPTIONS;DEPENDS;LINK_LIBS")
  nsacc_check_arguments(add_nsacc_unittest ${name})
  if(NOT name MATCHES "Tests$")
    message(FATAL_ERROR "add_nsacc_unittest(${name}): lit only finds names that end in 'Tests'.")
  endif()
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_UNPARSED_ARGUMENTS})
  nsacc_link(${name} PRIVATE)
  nsacc_use_precompiled_header(${name})
  nsacc_group_sources(${name})
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gtest_main)
  nsacc_add_sanitizer_defaults(${name})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY NSACC_UNITTESTS ${name})
endfunction()

# add_nsacc_fuzzer(NAME SRC... [LINK_LIBS ...]): a libFuzzer executable in bin/, part of the target
# nsacc-fuzzers. scripts/lib/fuzz_smoke.py runs it.
function(add_nsacc_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "WITHOUT_MLIR" "" "COMPILE_OPTIONS;DEPENDS;LINK_LIBS")
  nsacc_check_arguments(add_nsacc_fuzzer ${name})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  nsacc_link(${name} PRIVATE)
  nsacc_use_precompiled_header(${name})
  nsacc_group_sources(${name})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  nsacc_add_sanitizer_defaults(${name})
  add_dependencies(nsacc-fuzzers ${name})
endfunction()

# nsacc_find_header(VARIABLE HEADER PACKAGE): the folder of a library's headers, which Debian's
# package has.
function(nsacc_find_header variable header package)
  find_path(${variable} ${header})
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "${header} was not found. Run scripts/setup, or install ${package}, or pass "
                        "-D${variable}=<prefix>/include.")
  endif()
endfunction()

# Links ARG_LINK_LIBS of the caller, `default_scope` where the list names none.
function(nsacc_link name default_scope)
  if(NOT ARG_LINK_LIBS)
    return()
  endif()
  list(GET ARG_LINK_LIBS 0 first)
  if(first MATCHES "^(PUBLIC|PRIVATE|INTERFACE)$")
    target_link_libraries(${name} ${ARG_LINK_LIBS})
  else()
    target_link_libraries(${name} ${default_scope} ${ARG_LINK_LIBS})
  endif()
endfunction()

function(nsacc_check_arguments function name)
  if(NOT ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function}(${name}): no source files given.")
  endif()
  if(ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${function}(${name}): nothing follows ${ARG_KEYWORDS_MISSING_VALUES}.")
  endif()
endfunction()
