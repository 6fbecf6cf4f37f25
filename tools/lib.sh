# shellcheck shell=bash disable=SC2034
# What tools/run, tools/test and tools/format share; to be sourced under `set -euo pipefail`.
# Everything here speaks on stderr: stdout belongs to the program that is run.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
build=${WEFT_BUILD_DIR:-$root/build}
case $build in /*) ;; *) build=$PWD/$build ;; esac  # a relative one is relative to the caller

build_packages=(g++ cmake ninja-build pkg-config ccache libsimgrid-dev libboost-graph-dev
  libyaml-cpp-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev zlib1g-dev)
test_packages=(libgtest-dev librapidcheck-dev libbenchmark-dev python3)
# The trace is also tried in a browser. Another Node.js than Debian's may be here: it brings npm.
command -v chromium >/dev/null || test_packages+=(chromium)
command -v npm >/dev/null || test_packages+=(nodejs npm)

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

# quietly COMMAND...: shows what COMMAND printed only where it failed.
quietly() {
  local log status=0
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" != 0 ]; then
    cat "$log" >&2
    say "failed (exit $status): $*"
  fi
  rm -f "$log"
  return "$status"
}

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }

apt_get() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@"; }

# install_missing PACKAGE...: brings in the Debian packages that are not there yet, without a question.
install_missing() {
  command -v dpkg-query >/dev/null || return 0  # not Debian: CMake names what it does not find
  local have missing=() package
  have=$(dpkg-query -W -f='|${Package} ${db:Status-Status}|' "$@" 2>/dev/null) || true
  for package in "$@"; do
    [[ $have == *"|$package installed|"* ]] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
    say "some Debian packages are missing, and only root or a sudo without password may add them."
    say "As root: apt-get install --no-install-recommends ${missing[*]}"
    return 1
  fi
  say "installing ${missing[*]}"
  quietly apt_get update
  quietly apt_get install -y --no-install-recommends "${missing[@]}"
}

# configure ON|OFF: sets up the build folder, with the tests or without (and so without their
# packages). One that is set up stays as it is; one that has the tests keeps them.
configure() {
  local tests=$1 had=OFF cache=$build/CMakeCache.txt
  if grep -qsFx WEFT_BUILD_TESTS:BOOL=ON "$cache"; then had=ON tests=ON; fi
  if [ "$tests" = "$had" ] && [ -e "$build/build.ninja" ] &&
    grep -qsFx "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$cache"; then
    return 0
  fi
  say "configuring $build"
  quietly env -C "$root" cmake --preset release -B "$build" "-DWEFT_BUILD_TESTS=$tests"
}

# compile TARGET: builds what of it is out of date; a terminal sees ninja count.
compile() {
  local command=(cmake --build "$build" --parallel "$(nproc)" --target "$1")
  if [ -t 2 ]; then "${command[@]}" >&2; else quietly "${command[@]}" -- --quiet; fi
}
