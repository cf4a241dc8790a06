# hexlane_embed_text(<target> <text file> <function>)
#
# Adds to the target a source that defines `std::string_view hexlane::<function>()`, the contents of the file, so
# that the program needs no data file at run time. The header that declares it is the caller's.
function(hexlane_embed_text target file function)
  set(path ${CMAKE_SOURCE_DIR}/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  file(READ ${path} EMBED_TEXT)
  set(EMBED_FUNCTION ${function})
  set(source ${CMAKE_BINARY_DIR}/generated/${function}.cc)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/embed_text.cc.in ${source} @ONLY)
  target_sources(${target} PRIVATE ${source})
endfunction()
