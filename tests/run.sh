#!/bin/sh
# Runs the checks and suites named in the arguments, or all of them, on a machine with only Node and npm.
set -eu
cd -- "$(dirname -- "$0")/.."
sh .ci/setup.sh
PATH=$PWD/node_modules/.bin:$PATH
export PATH
exec bun tests/run.ts "$@"
