#!/bin/sh
# Builds Orrery into one executable: `sh compile.sh --help`.
set -eu

usage() {
  cat <<'EOF'
Usage: sh compile.sh [--target TARGET | --all]

Builds dist/orrery for this machine, or dist/orrery-TARGET for another one.

Targets: linux-x64  linux-x64-baseline  linux-x64-musl  linux-x64-musl-baseline
         linux-arm64  linux-arm64-musl  darwin-arm64  darwin-x64
EOF
}

targets="linux-x64 linux-x64-baseline linux-x64-musl linux-x64-musl-baseline linux-arm64 linux-arm64-musl darwin-arm64 darwin-x64"

fail() {
  echo "$1" >&2
  exit 2
}

# Checks the name of a target and prints Bun's name for it.
bun_target() {
  case $1 in
    linux-x64-musl-baseline) echo bun-linux-x64-baseline-musl ;;
    linux-x64 | linux-x64-baseline | linux-x64-musl | linux-arm64 | linux-arm64-musl | darwin-arm64 | darwin-x64) echo "bun-$1" ;;
    windows* | win32*) fail "Cannot build for $1: Orrery ends tools by POSIX process groups and sessions, which Windows does not have" ;;
    *) fail "Cannot build for \"$1\": not one of $targets" ;;
  esac
}

# The two entries are one program and its worker thread: a worker is found in the executable only if it is an entry.
# Without the two --no-compile-autoload flags the executable would obey a bunfig.toml and a .env of whatever folder it
# is started in.
build() {
  name=$1
  shift
  echo "Building dist/$name ($version, $commit)" >&2
  mkdir -p dist
  scratch=$(mktemp -d "$PWD/dist/.building-XXXXXX")
  trap 'rm -rf -- "$scratch"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  node_modules/.bin/bun build --compile --minify --bytecode --splitting --format=esm \
    --no-compile-autoload-bunfig --no-compile-autoload-dotenv \
    --define "ORRERY_VERSION=\"$version\"" --define "ORRERY_COMMIT=\"$commit\"" \
    "$@" --outfile "$scratch/$name" cli/main.ts lib/supervisor/worker.ts >&2
  chmod 755 "$scratch/$name"
  mv -f -- "$scratch/$name" "dist/$name"
  rm -rf -- "$scratch"
}

wanted=host
while [ $# -gt 0 ]; do
  case $1 in
    --target)
      [ $# -ge 2 ] || fail "Cannot build: --target needs a name, one of $targets"
      wanted=$2
      shift
      ;;
    --target=*) wanted=${1#--target=} ;;
    --all) wanted=$targets ;;
    -h | --help)
      usage
      exit 0
      ;;
    *) fail "Cannot build: unknown argument \"$1\" (see sh compile.sh --help)" ;;
  esac
  shift
done
for target in $wanted; do
  [ "$target" = host ] || bun_target "$target" >/dev/null
done

cd -- "$(dirname -- "$0")"
sh .ci/setup.sh
version=$(sed -n 's/^ *"version": "\([^"]*\)",*$/\1/p' package.json)
# Only a commit of this very folder counts: an unpacked archive may lie inside another repository.
if [ -e .git ] && commit=$(git rev-parse --short=12 HEAD 2>/dev/null); then
  [ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || commit=$commit-modified
else
  commit=unknown
fi

for target in $wanted; do
  if [ "$target" = host ]; then
    build orrery
  else
    build "orrery-$target" --target="$(bun_target "$target")"
  fi
done
