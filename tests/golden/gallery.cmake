# weft_gallery_test(SCENARIO [VARIANT NAME] [ONCE] [SET key=value...])
function(weft_gallery_test scenario)
  cmake_parse_arguments(ARG "ONCE" "VARIANT" "SET" ${ARGN})
  set(name ${scenario})
  if(ARG_VARIANT)
    set(name ${scenario}@${ARG_VARIANT})
  endif()
  set(options --name ${name})
  if(ARG_ONCE)
    list(APPEND options --once)
  endif()
  foreach(setting ${ARG_SET})
    list(APPEND options --set ${setting})
  endforeach()
  set(command ${CMAKE_CURRENT_SOURCE_DIR}/golden/run_gallery.py $<TARGET_FILE:weft>
              ${CMAKE_SOURCE_DIR}/scenarios/${scenario}.yaml ${options})
  add_test(NAME Gallery.${name} COMMAND Python3::Interpreter ${command})
  set_property(GLOBAL APPEND PROPERTY WEFT_GALLERY_UPDATES
               COMMAND Python3::Interpreter ${command} --update)
endfunction()

# All files are found, so that none is forgotten; what takes many seconds runs once.
file(GLOB scenarios CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/scenarios/*.yaml)
foreach(file ${scenarios})
  cmake_path(GET file STEM LAST_ONLY scenario)
  if(scenario MATCHES "^llama3-405b-")
    weft_gallery_test(${scenario} ONCE)
  else()
    weft_gallery_test(${scenario})
  endif()
endforeach()

weft_gallery_test(gpt3-175b-1024 VARIANT dragonfly SET fabric=dragonfly)
weft_gallery_test(neighbour-groups VARIANT fat_tree SET fabric=fat_tree)
weft_gallery_test(neighbour-groups VARIANT valiant SET routing.policy=valiant)
weft_gallery_test(dragonfly-next-group VARIANT valiant
                  SET routing.policy=valiant "workload.shift.size=10 MB" workload.shift.count=100)
weft_gallery_test(pipeline-bubble VARIANT gpipe SET workload.schedule.pipeline=gpipe)
weft_gallery_test(ring-all-reduce-8 VARIANT simgrid_cm02 SET engine.network=simgrid_cm02)
weft_gallery_test(sixteen-gpus VARIANT recompute
                  SET workload.recompute=full workload.overlap.data=false)
weft_gallery_test(sixteen-gpus VARIANT empty-stage
                  SET "workload.schedule.stage_layers=[0, 5, 6, 5]" engine.closed_forms=false)

# scenarios/README.md shows what the program prints.
add_test(NAME Gallery.ReadmeTellsTheAnswers
         COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/golden/gallery_readme_test.py
                 $<TARGET_FILE:weft> ${CMAKE_SOURCE_DIR}/scenarios)

# ninja update_golden: writes the golden files anew, one after another.
get_property(updates GLOBAL PROPERTY WEFT_GALLERY_UPDATES)
add_custom_target(update_golden ${updates} VERBATIM)
add_dependencies(update_golden weft)
