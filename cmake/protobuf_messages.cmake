# hexlane_protobuf(library file): makes <library> of src/<file>.proto; sources include <<file's name>.pb.h>. Only the
# lite runtime is linked. Generated code is not held to this project's warnings.
function(hexlane_protobuf library file)
  get_filename_component(name ${file} NAME_WE)
  get_filename_component(folder ${CMAKE_SOURCE_DIR}/src/${file} DIRECTORY)
  set(out ${CMAKE_BINARY_DIR}/protobuf)
  file(MAKE_DIRECTORY ${out})
  add_custom_command(
    OUTPUT ${out}/${name}.pb.cc ${out}/${name}.pb.h
    COMMAND protobuf::protoc --cpp_out=${out} -I${folder} ${CMAKE_SOURCE_DIR}/src/${file}
    DEPENDS ${CMAKE_SOURCE_DIR}/src/${file})
  add_library(${library} STATIC ${out}/${name}.pb.cc ${out}/${name}.pb.h)
  target_include_directories(${library} SYSTEM PUBLIC ${out})
  target_link_libraries(${library} PUBLIC protobuf::libprotobuf-lite)
  target_compile_options(${library} PRIVATE -w)
endfunction()
