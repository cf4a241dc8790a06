# hexlane_shared(<target> <name> <library> <exported>...)
#
# lib<name>.so of a static library with all that it needs. Only symbols of the patterns <exported> are seen from outside:
# a program's own copies of the libraries below stay its own. Segments are aligned to 16 KiB, as Android 15 wants them.
function(hexlane_shared target name library)
  list(JOIN ARGN "; " exported)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${target}.map)
  file(CONFIGURE OUTPUT ${script} CONTENT "{ global: ${exported}; local: *; };\n")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc CONTENT "// All of it is in ${library}.\n")
  add_library(${target} SHARED ${CMAKE_CURRENT_BINARY_DIR}/${target}.cc)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LINK_DEPENDS ${script}
                                             LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_link_libraries(${target} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,${library}>")
  target_link_options(${target} PRIVATE -Wl,--version-script=${script} -Wl,-z,max-page-size=16384 -Wl,--no-undefined)
  target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR}/include)
endfunction()
