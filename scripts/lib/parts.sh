# The parts of scripts/test, one function each, for scripts that have sourced common.sh and
# build.sh. A part writes JUnit files RESULTS/PART-*.xml; its exit code is its tests'.

RESULTS="$ROOT/build/test-results"
PYTHON="$ROOT/.venv/bin/python"
FUZZ_RUNS=30000
FUZZ_SECONDS=900
PACKAGE_FUZZ_RUNS=8000
DIFFERENTIAL_PROGRAMS=500

PARTS=(build includes lit python checks differential sanitize fuzz wheel)

describe_part() {
  case $1 in
    build) say "the dev build" ;;
    includes) say "each source compiled with the headers that it includes, and no others" ;;
    lit) say "lit and unit tests" ;;
    python) say "Python tests" ;;
    checks) say "checks of the repository, the README's commands among them" ;;
    differential) say "$DIFFERENTIAL_PROGRAMS random programs, compiled, against the oracle" ;;
    sanitize) say "lit and unit tests again under ASan and UBSan" ;;
    fuzz) say "$FUZZ_RUNS mutated programs, $PACKAGE_FUZZ_RUNS mutated packages under ASan and UBSan" ;;
    wheel) say "the wheel of pip install ., tagged for older systems and used outside the repository" ;;
  esac
}

run_pytest() {
  local part=$1
  shift
  PYTHONPATH="$ROOT/build/dev/python" PATH="$ROOT/build/dev/bin:$PATH" \
    "$PYTHON" -m pytest -q --rootdir "$ROOT" -c "$ROOT/pyproject.toml" \
    --junitxml "$RESULTS/$part-pytest.xml" "$@"
}

part_build() {
  configure dev -DNSACC_BUILD_PYTHON=ON
  build dev all nsacc-test-depends
}

part_includes() {
  "$PYTHON" "$ROOT/scripts/lib/includes.py" --build "$ROOT/build/dev" --jobs "$JOBS" \
    --junit "$RESULTS/includes-sources.xml"
}

# run_lit PART PRESET
run_lit() {
  local tests="$ROOT/build/$2/test"
  "$(llvm-config-22 --bindir)/lit" -sv -j "$JOBS" --order=smart \
    --xunit-xml-output "$RESULTS/$1-lit.xml" "$tests" "$tests/unittests"
}

part_lit() {
  run_lit lit dev
}

part_sanitize() {
  configure asan
  build asan nsacc-test-depends
  run_lit sanitize asan
}

part_python() {
  run_pytest python -n "$JOBS" --dist worksteal \
    "$ROOT/test/Integration/Python" "$ROOT/test/Integration/GPU"
}

part_checks() {
  run_pytest checks "$ROOT/scripts"
}

part_differential() {
  build dev nsacc-differential
  "$PYTHON" "$ROOT/scripts/lib/differential.py" --root "$ROOT" \
    --programs "$DIFFERENTIAL_PROGRAMS" --seed "${DIFFERENTIAL_SEED:-1}" --jobs "$JOBS" \
    --junit "$RESULTS/differential-programs.xml"
}

part_fuzz() {
  configure asan
  build asan nsacc-fuzzers
  local status=0
  run_fuzzer fuzz frontend-fuzzer "$FUZZ_RUNS" || status=1
  run_fuzzer fuzz package-fuzzer "$PACKAGE_FUZZ_RUNS" || status=1
  return $status
}

# run_fuzzer PART TARGET RUNS
run_fuzzer() {
  "$PYTHON" "$ROOT/scripts/lib/fuzz_smoke.py" --root "$ROOT" --target "$2" \
    --runs "$3" --seconds "$FUZZ_SECONDS" --jobs "$JOBS" --junit "$RESULTS/$1-$2.xml"
}

part_wheel() {
  run_pytest wheel "$ROOT/test/Integration/Wheel"
}
