# How libraries are installed so that CMake and pkg-config find them, wherever the prefix is moved.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# nsacc_install_library(TARGET COMPONENT NAME HEADERS FILE... DESCRIPTION TEXT)
# Installs a shared library lib<output name>.so with its headers, files of include/, as NAME of
# find_package(nsacc COMPONENTS COMPONENT) and as <output name>.pc.
function(nsacc_install_library target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "COMPONENT;DESCRIPTION" "HEADERS")
  set(component ${ARG_COMPONENT})
  install(TARGETS ${target} EXPORT nsacc-${component}-targets
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component})
  foreach(header IN LISTS ARG_HEADERS)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES "${PROJECT_SOURCE_DIR}/include/${header}"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/${folder}" COMPONENT ${component})
  endforeach()

  set(config_folder "${CMAKE_INSTALL_LIBDIR}/cmake/nsacc")
  install(EXPORT nsacc-${component}-targets NAMESPACE nsacc::
    DESTINATION "${config_folder}" COMPONENT ${component})
  # The same files for either component.
  configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/Package/nsaccConfig.cmake.in" nsaccConfig.cmake
    INSTALL_DESTINATION "${config_folder}")
  write_basic_package_version_file(nsaccConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/nsaccConfig.cmake"
                "${CMAKE_CURRENT_BINARY_DIR}/nsaccConfigVersion.cmake"
                "${PROJECT_SOURCE_DIR}/cmake/Package/nsaccAddPackage.cmake"
    DESTINATION "${config_folder}" COMPONENT ${component})

  get_target_property(name ${target} OUTPUT_NAME)
  if(NOT name)
    set(name ${target})
  endif()
  file(RELATIVE_PATH NSACC_PC_TO_PREFIX
       "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
  string(REGEX REPLACE "/$" "" NSACC_PC_TO_PREFIX "${NSACC_PC_TO_PREFIX}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/Package/library.pc.in" ${name}.pc @ONLY)
  install(FILES "${CMAKE_CURRENT_BINARY_DIR}/${name}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT ${component})
endfunction()
