# Shared by ./run, ./test and .ci/run: the Debian packages that a build needs, and the build itself.
# The current directory stays the caller's; messages and progress go to stderr, logs to build/*.log.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." >/dev/null && pwd -P)
build=$root/build
export NINJA_STATUS='[%f/%t] '
# Clones at other places find what this one has compiled. What is found was made from the same files, to
# the byte: GCC compares headers with those in precompiled ones by their content, where a comment counts,
# and the preprocessor's output, by which ccache finds results otherwise, has none.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1

say() { printf '%s\n' "$*" >&2; }

# fail LOG MESSAGE…: the end of a log, what went wrong, and where the rest stands.
fail() {
  local log=$1
  shift
  tail -n 60 -- "$log" >&2 || true
  say "$*"
  say "The whole log: $log"
  exit 1
}

# Copies nothing; shows how far a build or a test run, read from standard input, has come.
progress() {
  local line done total shown=0 step='^\[([0-9]+)/([0-9]+)\]|^ *([0-9]+)/([0-9]+) Test '
  while IFS= read -r line; do
    [[ $line =~ $step ]] || continue
    done=${BASH_REMATCH[1]}${BASH_REMATCH[3]} total=${BASH_REMATCH[2]}${BASH_REMATCH[4]}
    if [[ -t 2 ]]; then
      printf '\r\033[K%s %d of %d' "$1" "$done" "$total" >&2
    elif ((done * 4 / total > shown)); then
      shown=$((done * 4 / total))
      say "$1 $done of $total"
    fi
  done
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
}

# packages GROUP…: the names in these groups of scripts/packages.
packages() {
  awk -v groups=" $* " '/^# [a-z]+$/ { on = index(groups, " " $2 " ") } /^[^#]/ && on { print $1 }' \
    "$root/scripts/packages"
}

# What apt would do; needs no root.
plan() { LC_ALL=C apt-get -qq -y --no-install-recommends -o Debug::NoLocking=1 "$@"; }

# Says what is about to be installed, how much it is and how long it takes.
announce() {
  say "hologram needs these Debian packages: $*"
  local names size installed
  names=$(plan --simulate install "$@" 2>/dev/null | awk '$1 == "Inst" { print $2 }') || return 0
  size=$(plan --print-uris install "$@" | awk '{ sum += $3 } END { print int(sum / 1e6) + 1 }')
  installed=$(apt-cache show --no-all-versions $names |
    awk '$1 == "Installed-Size:" { sum += $2 } END { print int(sum * 1024 / 1e6) + 1 }')
  say "With what they need themselves: $(wc -w <<<"$names") packages, $size MB to download," \
    "$installed MB on disk, about $((1 + size / 300 + installed / 900)) min."
}

# need GROUP…: installs what is missing of these groups; without root says how, and ends with 69.
need() {
  command -v dpkg-query >/dev/null || {
    say "This is not Debian: scripts/packages lists what must be installed; going on with what is there."
    return 0
  }
  local wanted have name log=$build/packages.log missing=()
  wanted=$(packages "$@")
  have=$(dpkg-query -W -f '${db:Status-Status}:${Package}\n' $wanted 2>/dev/null || true)
  for name in $wanted; do
    [[ $'\n'$have$'\n' == *$'\n'installed:$name$'\n'* ]] || missing+=("$name")
  done
  ((${#missing[@]})) || return 0

  if ((EUID)); then
    announce "${missing[@]}"
    say "Installing them takes root. Run this one line, then this command again:"
    say "  sudo sh -c 'apt-get update && apt-get install -y --no-install-recommends ${missing[*]}'"
    exit 69
  fi
  mkdir -p "$build"
  export DEBIAN_FRONTEND=noninteractive
  if ! plan --simulate install "${missing[@]}" >"$log" 2>&1; then
    say "Reading Debian's lists of packages."
    apt-get -q update >>"$log" 2>&1 || fail "$log" "apt-get update failed: is the network there?"
  fi
  announce "${missing[@]}"
  local started=$SECONDS
  # Old lists may name packages that are gone: then once more with new ones.
  apt-get -q -y --no-install-recommends install "${missing[@]}" >>"$log" 2>&1 </dev/null ||
    { apt-get -q update && apt-get -q -y --no-install-recommends install "${missing[@]}"; } \
      >>"$log" 2>&1 </dev/null ||
    fail "$log" "The packages could not be installed."
  say "Installed in $((SECONDS - started)) s."
}

# One build of a folder at a time: waits for another ./run or ./test.
lock() {
  mkdir -p "$1"
  exec 9>"$1/.lock"
  flock -n 9 || { say "Another command is building; waiting for it." && flock 9; }
}

# configure FOLDER OPTION…: once for the same options and Debian packages, of which some are used where
# they are there; ninja runs cmake again by itself when a CMake file has changed.
configure() {
  local folder=$1 log=$1/configure.log
  shift
  # A build folder does not work at another place than where it was made.
  if [[ -f $folder/CMakeCache.txt ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    say "The clone has moved: building anew."
    find "$folder" -mindepth 1 -maxdepth 1 ! -name .lock ! -name '*.log' -exec rm -rf -- {} +
  fi
  [[ -f $folder/build.ninja && $(cat "$folder/.options" 2>/dev/null) == "$*" &&
    ! /var/lib/dpkg/status -nt $folder/.options ]] && return
  cmake -S "$root" -B "$folder" -G Ninja "$@" >"$log" 2>&1 ||
    fail "$log" "The build could not be configured."
  printf '%s\n' "$*" >"$folder/.options"
}

# make_targets FOLDER [TARGET…]: builds with all cores; says something only if there is work.
make_targets() {
  local folder=$1 log=$1/build.log started=$SECONDS
  shift
  set -- ninja -C "$folder" -j "$(nproc)" "$@"
  "$@" 2>&1 </dev/null 9>&- | tee "$log" | progress "Building:" || fail "$log" "The build failed."
  if ((SECONDS - started > 2)); then say "Built in $((SECONDS - started)) s."; fi
}

# Configures and builds Release in build/: everything, or the targets given.
release() {
  lock "$build"
  configure "$build" -DCMAKE_BUILD_TYPE=Release
  make_targets "$build" "$@"
  exec 9>&-
}

# Builds with clang are made to look for mistakes, and for one instruction set only: kernels for the
# others are the same text with other vectors, and would take several times as long to compile.
flags=-O1
if grep -qw avx2 /proc/cpuinfo; then flags+=' -march=x86-64-v3 -maes -mpclmul -DHWY_COMPILE_ONLY_STATIC'; fi
clang=(-DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=None "-DCMAKE_CXX_FLAGS=$flags"
  -DHOLOGRAM_QUICK_BUILD=ON
  -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=lld)

# Where a thread's variables of a loaded library begin is guessed by clang 14's runtime, from the bytes
# before them: for one block in 64 wrongly, and the search for leaks crashes there. Without the guess it
# finds them by itself, as it does all memory.
export ASAN_OPTIONS=intercept_tls_get_addr=0

# sanitized address|thread [TARGET…]: builds with clang's sanitizers into build-address (which also
# looks for undefined behaviour, and has the fuzzers) or build-thread.
sanitized() {
  local folder=$root/build-$1 sanitizers=$1 fuzzers=OFF
  [[ $1 == thread ]] || { sanitizers=address,undefined; fuzzers=ON; }
  shift
  lock "$folder"
  configure "$folder" "${clang[@]}" -DHOLOGRAM_SANITIZE="$sanitizers" -DHOLOGRAM_FUZZERS="$fuzzers"
  make_targets "$folder" "$@"
  exec 9>&-
}

# run_tests FOLDER [CTEST ARGUMENT…]: all tests of a build, then their closing line. PoCL, whose optimiser took
# two thirds of their time, does without; scripts/check-all lets it optimise.
run_tests() {
  local folder=$1 log=$1/tests.log status=0
  shift
  export POCL_EXTRA_BUILD_FLAGS=${POCL_EXTRA_BUILD_FLAGS--cl-opt-disable}
  rm -f "$folder/tests.xml"
  ctest --test-dir "$folder" --output-on-failure --no-tests=error --timeout 900 -j "$(nproc)" \
    --test-output-size-passed 1000000 --output-junit tests.xml "$@" 2>&1 </dev/null | tee "$log" |
    progress "Testing:" || status=1
  python3 "$root/scripts/test_summary.py" "$folder/tests.xml" "$log" || status=1
  return "$status"
}
