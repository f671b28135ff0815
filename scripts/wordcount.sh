#!/bin/sh
# Prints the number of words of the file that the input names.
set -eu
wc -w < "$STELLA_INPUT_PATH" | tr -d ' '
