#!/usr/bin/env bash
# The key of the vault in a real keyring: a D-Bus session and a gnome-keyring-daemon of its own, below a folder of its own.
# CAPDECK names the binary. Without arguments the session is started; with `inside` it is there.
set -euo pipefail

fail() {
  echo "failed: $*" >&2
  exit 1
}

# What one command printed has to hold a text.
expect() {
  local expected="$1" output
  shift
  output="$("$@" 2>&1)" || true
  case "$output" in
    *"$expected"*) echo "ok: ${*:2} -> $expected" ;;
    *) fail "${*:2}: expected '$expected', got: $output" ;;
  esac
}

inside() {
  local key="$HOME/state/vault/key"
  printf 'a password of this test' | gnome-keyring-daemon --unlock --components=secrets >/dev/null
  printf 'canary-1' | "$CAPDECK" vault set TOKEN
  cp "$key" "$HOME/first-key"

  expect '"home":"keyring"' compact vault rekey --to keyring --json
  grep -q '^capdeck-key-in-keyring-v1\.[0-9a-f]\{16\}$' "$key" || fail "the key file holds: $(cat "$key")"
  expect canary-1 "$CAPDECK" vault get TOKEN --show
  printf 'canary-2' | "$CAPDECK" vault set OTHER
  local before
  before="$(cat "$key")"
  expect '"home":"keyring"' compact vault rekey --json
  [ "$before" != "$(cat "$key")" ] || fail "the key did not change"
  expect canary-2 "$CAPDECK" vault get OTHER --show

  # A program that cannot reach the keyring gets an error at once, and changes nothing.
  local nowhere="unix:path=$HOME/nobody"
  expect "the system's keyring cannot be used" env DBUS_SESSION_BUS_ADDRESS="$nowhere" "$CAPDECK" vault get TOKEN
  expect "the system's keyring cannot be used" env DBUS_SESSION_BUS_ADDRESS="$nowhere" "$CAPDECK" vault rekey --to file

  # The name of a key that the keyring does not have.
  cp "$key" "$HOME/saved-key"
  echo 'capdeck-key-in-keyring-v1.0123456789abcdef' >"$key"
  expect 'has no key `0123456789abcdef`' "$CAPDECK" vault get TOKEN
  cp "$HOME/saved-key" "$key"

  expect '"home":"file"' compact vault rekey --to file --json
  grep -q '^capdeck-vault-key-v1\.' "$key" || fail "the key file holds no key"
  expect canary-1 env DBUS_SESSION_BUS_ADDRESS="$nowhere" "$CAPDECK" vault get TOKEN --show
}

# JSON without the spaces that are there for people.
compact() { "$CAPDECK" "$@" | tr -d ' \n'; }

if [ "${1:-}" = inside ]; then
  inside
  exit
fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
mkdir -m 700 "$folder/run"
env -i PATH="$PATH" HOME="$folder" XDG_RUNTIME_DIR="$folder/run" CAPDECK="$CAPDECK" \
  CAPDECK_CONFIG_DIR="$folder/config" CAPDECK_STATE_DIR="$folder/state" CAPDECK_CACHE_DIR="$folder/cache" \
  dbus-run-session -- "$0" inside
