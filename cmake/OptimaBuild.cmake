# SPDX-License-Identifier: Apache-2.0
# What every room shares: language level, warnings, output folders, ccache, sanitizers, and optima_add_room().
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(OPTIMA_CCACHE ccache)
if(OPTIMA_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${OPTIMA_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${OPTIMA_CCACHE})
endif()

# The presets that set this compile with clang and -O0: -O1 takes twice the time, GCC almost twice, and building takes longer than running.
set(OPTIMA_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined")
if(OPTIMA_SANITIZE)
  add_compile_options(-fsanitize=${OPTIMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${OPTIMA_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # one runtime for programs and plugins, as GCC has it
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-resource-dir OUTPUT_VARIABLE OPTIMA_CLANG_FOLDER OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    add_link_options(-shared-libsan -fuse-ld=lld)  # bfd takes many times as long for what sanitizers make of objects
    string(APPEND CMAKE_EXE_LINKER_FLAGS " -Wl,-rpath,${OPTIMA_CLANG_FOLDER}/lib/linux")  # not of plugins: their run paths are tested
    # as GCC says it to the sources
    if(OPTIMA_SANITIZE STREQUAL "thread")
      add_compile_definitions(__SANITIZE_THREAD__)
    else()
      add_compile_definitions(__SANITIZE_ADDRESS__)
    endif()
    # function and vptr compare what plugins keep to themselves by design: types of another shared library
    add_compile_options(-fno-sanitize=function,vptr -Wno-deprecated-declarations)  # libstdc++'s own stable_sort calls a deprecated function
  endif()
endif()

add_compile_options(-Wall -Wextra -Wpedantic -ffunction-sections -fdata-sections)
# GCC 12 takes every `"text" + std::string` that it inlines for an overlapping copy: GCC bugs 105329 and 105651, put right in GCC 13.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
set(OPTIMA_DEPS ${PROJECT_SOURCE_DIR}/.deps)
# What scripts/setup has put there decides what is built and tested: configure again when it changes.
if(NOT EXISTS ${OPTIMA_DEPS}/parts)
  file(WRITE ${OPTIMA_DEPS}/parts "")
endif()
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${OPTIMA_DEPS}/parts)

# optima_add_room(NAME FILES... [DEPENDS targets...] [WHOLE]): one static library per room, includes from the project root. WHOLE: where GCC
# builds a release also NAME_whole, the same files for the runtime library, which is linked as a whole (LTO) and so a seventh smaller. One
# archive cannot serve both: the index that ar makes of objects for LTO names inline functions which the machine code in them lacks.
function(optima_add_room name)
  cmake_parse_arguments(ROOM "WHOLE" "" "DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ROOM_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ROOM_DEPENDS})
  if(ROOM_WHOLE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT OPTIMA_SANITIZE)
    add_library(${name}_whole STATIC EXCLUDE_FROM_ALL ${ROOM_UNPARSED_ARGUMENTS})
    target_include_directories(${name}_whole PUBLIC ${PROJECT_SOURCE_DIR})
    set_target_properties(${name}_whole PROPERTIES INTERPROCEDURAL_OPTIMIZATION ON)
    foreach(other IN LISTS ROOM_DEPENDS)
      if(TARGET ${other}_whole)
        set(other ${other}_whole)
      endif()
      target_link_libraries(${name}_whole PUBLIC ${other})
    endforeach()
  endif()
endfunction()

# All presets but dev compile the files of a target in groups (CMAKE_UNITY_BUILD), which halves what compilers take for them; these files of
# this folder have names of their own that others of their target have, too, and are compiled alone.
function(optima_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# optima_families(HEADER NAMESPACE): each lower/NAME.cpp of this folder defines Family NAME_family(), and families() of HEADER gives them all.
# Sets `families` to these files and the one that lists them.
function(optima_families header namespace)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/lower/*.cpp)
  set(declared "")
  set(listed "")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME_WE)
    string(APPEND declared "Family ${name}_family();\n")
    string(APPEND listed "${name}_family(), ")
  endforeach()
  set(list ${CMAKE_CURRENT_BINARY_DIR}/families.cpp)
  file(CONFIGURE OUTPUT ${list} CONTENT "#include \"${header}\"

namespace ${namespace} {

${declared}
std::span<const Family> families() {
  static const Family all[] = {${listed}};
  return all;
}

}  // namespace ${namespace}
")
  set(families ${files} ${list} PARENT_SCOPE)
endfunction()

# The object that every test program links: made where the first of them is, the others know it.
function(optima_add_test_main)
  if(NOT TARGET optima_test_main)
    add_library(optima_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/support/main.cpp)
    optima_test_options(optima_test_main)
  endif()
endfunction()

# Flags of what tests: optima_test_options(TARGET). Where Clang is there it compiles a GCC release's tests, in two fifths of the time that GCC takes at
# -O1: they run once for each time they are built. What is tested keeps its own compiler and level.
find_program(OPTIMA_TEST_COMPILER NAMES clang++-19)
function(optima_test_options name)
  if(OPTIMA_SANITIZE)
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)  # what is tested is checked, not what tests it: a third of the build time
  elseif(OPTIMA_TEST_COMPILER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING)
    set_target_properties(${name} PROPERTIES CXX_COMPILER_LAUNCHER "${PROJECT_SOURCE_DIR}/cmake/compile_with;${OPTIMA_TEST_COMPILER};${CMAKE_CXX_COMPILER_LAUNCHER}")
    target_compile_options(${name} PRIVATE -O0 -Wno-unknown-warning-option)
  else()
    target_compile_options(${name} PRIVATE -O1)
  endif()
endfunction()

# optima_add_test(NAME FILES... [DEPENDS targets...] [LABELS labels...]): one doctest program = one ctest test of that name.
# doctest's main() is in tests/support/main.cpp, compiled once for all. Tests run in the build folder; OPTIMA_SOURCE_DIR names the project.
function(optima_add_test name)
  cmake_parse_arguments(TEST "" "" "DEPENDS;LABELS" ${ARGN})
  optima_add_test_main()
  add_executable(${name} ${TEST_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE optima_test_main ${TEST_DEPENDS})
  optima_test_options(${name})
  target_compile_definitions(${name} PRIVATE OPTIMA_SOURCE_DIR="${PROJECT_SOURCE_DIR}" OPTIMA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "${TEST_LABELS}")
  if("slow" IN_LIST TEST_LABELS)
    optima_takes(60 ${name})
  endif()
endfunction()

# optima_takes(SECONDS TESTS...): about how long they take, under a sanitizer where they run under one. The longest begin first, so that none is
# left for the end alone.
function(optima_takes seconds)
  set_tests_properties(${ARGN} PROPERTIES COST ${seconds})
endfunction()

# Tests whose teams take every processor: beside another test a step waits for whoever lost one, and takes up to twenty times as long.
# They begin before all others: later two processors are hardly ever free at once, and these would run at the end, one after the other.
function(optima_takes_processors)
  set_tests_properties(${ARGN} PROPERTIES PROCESSORS 2)
  optima_takes(1000 ${ARGN})
endfunction()

# Tests that also run under a sanitizer: optima_sanitized(asan test_x test_y) makes them part of optima_tests_asan, which
# `scripts/test` builds and runs in the asan build folder.
function(optima_sanitized kind)
  if(NOT TARGET optima_tests_${kind})
    add_custom_target(optima_tests_${kind})
  endif()
  foreach(test IN LISTS ARGN)
    add_dependencies(optima_tests_${kind} ${test})
    get_property(labels TEST ${test} PROPERTY LABELS)
    set_property(TEST ${test} PROPERTY LABELS "${labels};${kind}")
  endforeach()
endfunction()

# A test that cannot be had here: it says why, and is counted as skipped.
function(optima_skipped_test name reason)
  add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "SKIP: ${reason}")
endfunction()
