# cmake -DROOT=… -DEXTRA=… -DOUTPUT=… -P HashSources.cmake: writes the SHA-256 of the sources that
# decide what code nsacc makes, and of EXTRA, as a C string. Builds of the same sources have the same
# one, wherever they are made. The file stays as it is where the hash does.
file(GLOB_RECURSE sources RELATIVE "${ROOT}"
     "${ROOT}/dialects/*" "${ROOT}/include/nsacc/*" "${ROOT}/lib/*")
list(SORT sources)
set(all "${EXTRA}")
foreach(source IN LISTS sources)
  file(SHA256 "${ROOT}/${source}" hash)
  string(APPEND all "\n${source} ${hash}")
endforeach()
string(SHA256 hash "${all}")
file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "\"${hash}\"\n" @ONLY)
