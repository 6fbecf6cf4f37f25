# embed_presets(OUTPUT [KIND FOLDER]...): writes a .cpp that holds every FOLDER/*.yaml as text, so
# that the program finds its presets wherever it is installed. sim/presets.h declares the table.
function(embed_presets output)
  set(rows "")
  while(ARGN)
    list(POP_FRONT ARGN kind folder)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.yaml)
    list(SORT files)
    foreach(file IN LISTS files)
      get_filename_component(name ${file} NAME_WLE)
      file(READ ${file} text)
      string(APPEND rows "      {\"${kind}\", \"${name}\", R\"yaml(${text})yaml\"},\n")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    endforeach()
  endwhile()
  file(CONFIGURE OUTPUT ${output} CONTENT "#include \"sim/presets.h\"

namespace weft {
const std::vector<Preset>& presets() {
  static const std::vector<Preset> table = {
${rows}  };
  return table;
}
}  // namespace weft
" @ONLY)
endfunction()
