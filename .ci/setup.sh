#!/bin/sh
# Brings node_modules to what bun.lock says, with the Bun that package.json pins. Needs that Bun, or Node with npm.
# Prints nothing and touches nothing if that is already so.
set -eu
cd -- "$(dirname -- "$0")/.."

stamp=node_modules/.installed-bun.lock
if [ -x node_modules/.bin/bun ] && [ -x node_modules/.bin/deno ] && cmp -s bun.lock "$stamp"; then
  exit 0
fi

version=$(sed -n 's/^ *"bun": "\([0-9][0-9.]*\)",*$/\1/p' package.json)
if [ -z "$version" ]; then
  echo "Cannot install: package.json does not pin bun to one version in devDependencies" >&2
  exit 1
fi

echo "Installing packages with Bun $version" >&2
if [ "$(bun --version 2>/dev/null || true)" = "$version" ]; then
  bun install --frozen-lockfile >&2
elif command -v npx >/dev/null; then
  npx --yes "bun@$version" install --frozen-lockfile >&2
else
  echo "Cannot install: found neither Bun $version nor npx (which comes with Node.js)" >&2
  exit 1
fi

if [ "$(node_modules/.bin/bun --version)" != "$version" ]; then
  echo "Cannot install: node_modules/.bin/bun is not Bun $version (are install scripts switched off?)" >&2
  exit 1
fi
cp bun.lock "$stamp"
