# nsacc_add_package(NAME PACKAGE FILE [PREFIX PREFIX])
# nsacc_add_package(NAME PROGRAM FILE [PREFIX PREFIX] COMPILE_OPTIONS OPTION...)
#
# A library that has a package in it, with the header NAME.h that loads and launches it; what links
# the library finds both, and nsacc::rt. PROGRAM is compiled first, with options as
# `--target sm_90a --dims HQ=4,H=2,D=64,DV=64`. Names in the header begin with PREFIX instead of the
# kernel's name.
#
# Needs the nsacc command, while the project is built: on the PATH, or as NSACC_EXECUTABLE.

# The function may be called where the variables of find_package aren't known.
set_property(GLOBAL PROPERTY NSACC_PREFIX_DIR "${PACKAGE_PREFIX_DIR}")

function(nsacc_add_package name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "PACKAGE;PROGRAM;PREFIX" "COMPILE_OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "nsacc_add_package(${name}): unknown: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if((ARG_PACKAGE AND ARG_PROGRAM) OR NOT (ARG_PACKAGE OR ARG_PROGRAM))
    message(FATAL_ERROR "nsacc_add_package(${name}): give PACKAGE FILE or PROGRAM FILE, one of both.")
  endif()
  if(ARG_PACKAGE AND ARG_COMPILE_OPTIONS)
    message(FATAL_ERROR "nsacc_add_package(${name}): a PACKAGE is compiled: drop COMPILE_OPTIONS.")
  endif()
  get_property(prefix GLOBAL PROPERTY NSACC_PREFIX_DIR)
  find_program(NSACC_EXECUTABLE nsacc HINTS "${prefix}/bin")
  if(NOT NSACC_EXECUTABLE)
    message(FATAL_ERROR "nsacc_add_package(${name}): the nsacc command wasn't found: put it on the "
                        "PATH, or pass -DNSACC_EXECUTABLE=FILE. A project without it can have what "
                        "`nsacc header FILE.nsapkg -o FILE.h --object FILE.o` wrote elsewhere.")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.package")
  file(MAKE_DIRECTORY "${folder}")
  set(header "${folder}/${name}.h")
  set(object "${folder}/${name}.o")
  if(ARG_PROGRAM)
    set(package "${folder}/${name}.nsapkg")
    cmake_path(ABSOLUTE_PATH ARG_PROGRAM BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    add_custom_command(OUTPUT "${package}" VERBATIM
      COMMAND "${NSACC_EXECUTABLE}" compile "${ARG_PROGRAM}" --emit package ${ARG_COMPILE_OPTIONS}
              -o "${package}"
      DEPENDS "${ARG_PROGRAM}" "${NSACC_EXECUTABLE}")
  else()
    cmake_path(ABSOLUTE_PATH ARG_PACKAGE BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
               OUTPUT_VARIABLE package)
  endif()
  set(naming)
  if(ARG_PREFIX)
    set(naming --name "${ARG_PREFIX}")
  endif()
  add_custom_command(OUTPUT "${header}" "${object}" VERBATIM
    COMMAND "${NSACC_EXECUTABLE}" header "${package}" ${naming} -o "${header}"
            --object "${object}" --arch "${CMAKE_SYSTEM_PROCESSOR}"
    DEPENDS "${package}" "${NSACC_EXECUTABLE}")

  add_library(${name} STATIC "${object}" "${header}")
  # It has no source that would tell.
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  else()
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_include_directories(${name} INTERFACE "${folder}")
  target_link_libraries(${name} INTERFACE nsacc::rt)
endfunction()
