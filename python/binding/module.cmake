# SPDX-License-Identifier: Apache-2.0
# The module optima._runtime for the Python that find_package(Python) found. For CPython 3.12 and up it stands on the stable interface, so that one
# file serves them all; for 3.11, and for a Python without its global lock, it serves that version alone.

# How the file's name ends: ".abi3.so", or ".cpython-311-x86_64-linux-gnu.so".
execute_process(COMMAND ${Python_EXECUTABLE} -c "import sys, sysconfig
stable = sys.implementation.name == 'cpython' and sys.version_info >= (3, 12) and not sysconfig.get_config_var('Py_GIL_DISABLED')
print('.abi3.so' if stable else sysconfig.get_config_var('EXT_SUFFIX'), end='')" OUTPUT_VARIABLE optima_binding_suffix COMMAND_ERROR_IS_FATAL ANY)

# Makes the target optima_python, which the caller links to the runtime library. nanobind_python: a Python that has nanobind, whose sources serve every
# Python. A macro, as nanobind's functions want its variables later, too.
set(optima_binding_folder ${CMAKE_CURRENT_LIST_DIR})
macro(optima_add_binding nanobind_python)
  execute_process(COMMAND ${nanobind_python} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_folder OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  if(optima_binding_suffix STREQUAL ".abi3.so")
    set(Python_SOSABI abi3)
    if(NOT TARGET Python::SABIModule)  # CMake knows it from 3.26 on; with this linker it brings nothing
      add_library(Python::SABIModule INTERFACE IMPORTED)
    endif()
  endif()
  find_package(nanobind CONFIG REQUIRED PATHS ${nanobind_folder} NO_DEFAULT_PATH)
  nanobind_add_module(optima_python STABLE_ABI NB_STATIC NB_DOMAIN optima ${optima_binding_folder}/module.cpp ${optima_binding_folder}/checksum.cpp
                      ${optima_binding_folder}/request.cpp ${optima_binding_folder}/tensor.cpp)
  set_target_properties(optima_python PROPERTIES OUTPUT_NAME _runtime CXX_STANDARD 20 UNITY_BUILD OFF BUILD_WITH_INSTALL_RPATH ON
                        INSTALL_RPATH "\$ORIGIN/_native/lib")
  target_include_directories(optima_python PRIVATE ${optima_binding_folder}/../..)
endmacro()
