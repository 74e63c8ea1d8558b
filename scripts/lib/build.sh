# Configuring and building, for scripts that have sourced common.sh.

# configure PRESET [CMAKE-ARGUMENT...]
configure() {
  local preset=$1
  shift
  step "configure $preset" \
    "read the log; a stale build/$preset can be deleted and is made anew." \
    cmake --preset "$preset" -S "$ROOT" -DPython_EXECUTABLE="$ROOT/.venv/bin/python" "$@"
}

# build PRESET TARGET...
build() {
  local preset=$1
  shift
  step "build $preset: $*" \
    "mend the error in the log; a killed compiler means that memory ran out." \
    cmake --build "$ROOT/build/$preset" -j "$JOBS" --target "$@"
}
