# SPDX-License-Identifier: Apache-2.0
# Lets an interface package build on ROS 2 from wheels, as CMAKE_PROJECT_INCLUDE.
# Their environment leaves AMENT_PREFIX_PATH unset, and their *__rosidl_generator_py
# targets name include directories that do not exist. Harmless elsewhere.

find_package(ament_cmake_core QUIET CONFIG)
if(ament_cmake_core_DIR)
  get_filename_component(_prefix "${ament_cmake_core_DIR}/../../.." ABSOLUTE)
  if(NOT ":$ENV{AMENT_PREFIX_PATH}:" MATCHES ":${_prefix}:")
    set(ENV{AMENT_PREFIX_PATH} "$ENV{AMENT_PREFIX_PATH}:${_prefix}")
  endif()
endif()

function(_drop_dangling_includes)
  get_property(_targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(_target IN LISTS _targets)
    if(_target MATCHES "__rosidl_generator_py$")
      set_property(TARGET ${_target} PROPERTY INTERFACE_INCLUDE_DIRECTORIES "")
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL _drop_dangling_includes)
