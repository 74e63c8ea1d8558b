# Shared by the scripts: paths, and steps that report their progress.
# Sourced, not run.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LOG_DIR="$ROOT/build/logs"

# One compiler or linker may take 2 GB.
MEMORY_GB=$(awk '/^MemTotal:/ { print int($2 / 1048576) }' /proc/meminfo)
JOBS=$(nproc)
if ((JOBS > MEMORY_GB / 2)); then JOBS=$((MEMORY_GB > 3 ? MEMORY_GB / 2 : 1)); fi

# Relative paths in compile commands let clones in different folders share the cache.
export CCACHE_BASEDIR="$ROOT" CCACHE_NOHASHDIR=1

say() { printf '%s\n' "$*"; }

die() {
  printf 'error: %s\n' "$1" >&2
  shift
  local line
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

# Seconds since $1 (a value of EPOCHREALTIME), with one decimal.
seconds_since() {
  local now=${EPOCHREALTIME/[.,]/} then=${1/[.,]/}
  local tenths=$(((now - then) / 100000))
  printf '%d.%d s' $((tenths / 10)) $((tenths % 10))
}

# Prints the last line of a growing log every 15 seconds while process $1 lives.
heartbeat() {
  local pid=$1 log=$2 start=$3 tick=0
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.2
    tick=$((tick + 1))
    if ((tick % 75 == 0)); then
      say "      $(seconds_since "$start")  $(tail -n 1 "$log" | tr -d '\r' | cut -c 1-90)"
    fi
  done
}

# step NAME HINT COMMAND...: runs a command with its output in a log, and says how long it took
# or, on failure, how the log ends and what to do about it.
step() {
  local name=$1 hint=$2 log start status=0
  shift 2
  mkdir -p "$LOG_DIR"
  log="$LOG_DIR/$(tr -c 'a-zA-Z0-9\n' '-' <<<"$name").log"
  start=$EPOCHREALTIME
  say "  ... $name"
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  # A background child ignores Ctrl-C by itself.
  trap 'kill "$pid" 2>/dev/null; exit 130' INT TERM
  heartbeat "$pid" "$log" "$start"
  wait "$pid" || status=$?
  trap - INT TERM
  if ((status != 0)); then
    say "FAILED $name after $(seconds_since "$start") (exit code $status)"
    say "  The log ends with:"
    tail -n 25 "$log" | sed 's/^/    | /'
    die "$name failed." "What to do: $hint" "Whole log: $log"
  fi
  say "   ok $name ($(seconds_since "$start"))"
}
