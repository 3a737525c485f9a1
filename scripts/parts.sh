# Sourced after common.sh by checks that are made of parts: two run at a time, and one closing line
# counts them like tests. $logs is where each leaves its output.
status=0 passed=0 failed=0 skipped=0
skip() {
  say "skipped: $*"
  skipped=$((skipped + 1))
}
# The closing line of what is no test of ctest.
finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  exit "$status"
}

# check NAME COMMAND…: a part, in the background.
names=()
check() {
  local name=$1
  shift
  while (($(jobs -pr | wc -l) >= 2)); do wait -n || true; done
  names+=("$name")
  rm -f "$logs/$name.passed"
  # Not before `||`, where bash goes on after a command that fails.
  (
    set -e
    SECONDS=0
    "$@"
    say "$name took $SECONDS s."
    touch "$logs/$name.passed"
  ) >"$logs/$name.log" 2>&1 &
}

# Waits for those so far; what failed is shown.
settle() {
  local name
  wait
  for name in "${names[@]}"; do
    printf '%s: %s\n' "$name" "$(grep -E ' texts$|compiled,|passed, |PASSED|FAILED' "$logs/$name.log" | tail -1)"
    if [[ -e $logs/$name.passed ]]; then passed=$((passed + 1))
    else
      tail -n 40 "$logs/$name.log"
      failed=$((failed + 1)) status=1
    fi
  done
  names=()
}
