# Finds LLVM and MLIR 22 and makes the static MLIR archives usable without libLLVM.so.

if(NOT MLIR_DIR)
  find_program(NSACC_LLVM_CONFIG NAMES llvm-config-22)
  if(NSACC_LLVM_CONFIG)
    execute_process(COMMAND "${NSACC_LLVM_CONFIG}" --prefix
                    OUTPUT_VARIABLE NSACC_LLVM_PREFIX
                    OUTPUT_STRIP_TRAILING_WHITESPACE
                    COMMAND_ERROR_IS_FATAL ANY)
    set(MLIR_DIR "${NSACC_LLVM_PREFIX}/lib/cmake/mlir" CACHE PATH
        "Folder of MLIRConfig.cmake")
  endif()
endif()

find_package(MLIR QUIET CONFIG)
if(NOT MLIR_FOUND)
  message(FATAL_ERROR
          "MLIR 22 was not found. Run scripts/setup, or install llvm-22-dev and "
          "libmlir-22-dev, or pass -DMLIR_DIR=<prefix>/lib/cmake/mlir.")
endif()
if(NOT LLVM_VERSION_MAJOR EQUAL 22)
  message(FATAL_ERROR "nsacc needs LLVM/MLIR 22, found ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}.")
endif()
message(STATUS "MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH "${LLVM_CMAKE_DIR}" "${MLIR_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# LLVM components that every MLIR archive may use. Archives that use more (JIT, code generation)
# name theirs where they are linked.
llvm_map_components_to_libnames(NSACC_LLVM_CORE_LIBS
  asmparser binaryformat bitreader bitwriter core demangle remarks support targetparser)
add_library(nsacc_llvm_core INTERFACE)
target_link_libraries(nsacc_llvm_core INTERFACE ${NSACC_LLVM_CORE_LIBS})

# Debian exports the static MLIR targets with `LLVM` (the shared library) in their link interface.
# Left alone, a process gets two copies of LLVM.
function(nsacc_use_static_llvm)
  foreach(target IN LISTS MLIR_EXPORTED_TARGETS)
    if(NOT TARGET ${target})
      continue()
    endif()
    get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
    if(NOT "LLVM" IN_LIST libraries)
      continue()
    endif()
    list(REMOVE_ITEM libraries LLVM)
    list(APPEND libraries nsacc_llvm_core)
    set_property(TARGET ${target} PROPERTY INTERFACE_LINK_LIBRARIES ${libraries})
  endforeach()
endfunction()
nsacc_use_static_llvm()

# What LLVM compresses with comes from archives where there are some, so that libnsacc.so needs the
# C library and libgcc alone.
function(nsacc_use_static_compression)
  find_library(NSACC_ZLIB_ARCHIVE libz.a)
  get_target_property(libraries LLVMSupport INTERFACE_LINK_LIBRARIES)
  if(NSACC_ZLIB_ARCHIVE)
    list(TRANSFORM libraries REPLACE "^ZLIB::ZLIB$" "${NSACC_ZLIB_ARCHIVE}")
  endif()
  if(TARGET zstd::libzstd_static)
    list(TRANSFORM libraries REPLACE "^zstd::libzstd_shared$" "zstd::libzstd_static")
  endif()
  set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES ${libraries})
endfunction()
nsacc_use_static_compression()
