# The sources of a target compiled together (CMAKE_UNITY_BUILD): what costs time is not their own
# text but the templates and headers that each would compile again.

# Sources see each other's names, so those that open different namespaces are kept apart. That each
# compiles alone, scripts/lib/includes.py checks.
function(nsacc_group_sources name)
  set_target_properties(${name} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${name} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.cpp$")
      file(STRINGS "${source}" names REGEX "^using [^=]+;")
      string(MD5 group "${names}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endif()
  endforeach()
endfunction()
