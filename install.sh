#!/bin/sh
# Installs Orrery: `sh install.sh --help`. Needs tar, gzip, expr and a program that makes SHA-256 sums; from a URL also curl,
# wget or apt.
#
# I1  Nothing under its final name is touched before the new executable was unpacked, compared with its sum and started, and
#     what goes to share lies on the disk where it will go.
# I2  Every file is replaced by one rename: whoever opens it gets the old one or the new one, whole.
set -eu
# Called as a script of zsh, which splits words, names itself and ends functions in its own way.
if [ -n "${ZSH_VERSION:-}" ]; then emulate sh; fi

EXTRA_FOLDERS="doc/orrery man/man1 bash-completion/completions zsh/site-functions fish/vendor_completions.d"
# What ends the lines of a list that was written on Windows.
cr=$(printf '\r')
targets="linux-x64 linux-x64-baseline linux-x64-musl linux-x64-musl-baseline linux-arm64 linux-arm64-musl darwin-arm64 darwin-x64"

usage() {
  cat <<'EOT'
Usage: sh install.sh [--from URL|DIR] [--target TARGET] [--stella]

Installs the executable for this machine, its documents, manual pages and completions; again: upgrades in place.

--from URL|DIR   where SHA256SUMS and the archives are; else ORRERY_FROM, else the folder this script is in
--target TARGET  instead of what this machine is: linux-x64, linux-x64-baseline, linux-x64-musl, linux-x64-musl-baseline,
                 linux-arm64, linux-arm64-musl, darwin-arm64 or darwin-x64
--stella         make it reachable as "stella" too

INSTALL_DIR      the folder for the executable; else /usr/local/bin for root, ~/.local/bin for everybody else
VERSION          the version to install; else the newest that SHA256SUMS lists, a pre-release only if nothing else is
EOT
}

# What cannot be said, with standard error closed, ends nothing.
say() { printf '%s\n' "$1" >&2 || true; }

fail() {
  say "Cannot install Orrery: $1"
  exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

main() {
  from=${ORRERY_FROM:-} target='' stella=no
  while [ $# -gt 0 ]; do
    case $1 in
      --from | --target)
        [ $# -ge 2 ] || fail "$1 needs a value (see sh install.sh --help)"
        if [ "$1" = --from ]; then from=$2; else target=$2; fi
        shift
        ;;
      --from=*) from=${1#--from=} ;;
      --target=*) target=${1#--target=} ;;
      --stella) stella=yes ;;
      -h | --help)
        usage
        exit 0
        ;;
      *) fail "unknown argument \"$1\" (see sh install.sh --help)" ;;
    esac
    shift
  done
  [ -n "$from" ] || from=$(own_folder)
  from=$(place_of "$from")
  detected=no
  if [ -z "$target" ]; then target=$(detect_target) detected=yes; fi
  case " $targets " in
    *" $target "*) ;;
    *) fail "\"$target\" is not one of $targets" ;;
  esac
  folder=$(install_folder)
  # What root installs is for everybody, whatever root's own files are.
  if [ "$(id -u)" = 0 ]; then umask 022; fi
  prepare "$folder"
  fetch SHA256SUMS
  archive=$(choose "$target")
  look_back "$archive"
  fetch "$archive"
  check "$archive"
  unpack "$archive"
  try_out "$target"
  stage_extras
  put_in_place
}

# A URL that can be fetched from, or a folder, without a slash at its end.
place_of() {
  case $1 in
    [Hh][Tt][Tt][Pp]://*) place=http://${1#*://} ;;
    [Hh][Tt][Tt][Pp][Ss]://*) place=https://${1#*://} ;;
    [Ff][Ii][Ll][Ee]:*%*) fail "$1 has a % in it: name the folder by its plain path" ;;
    [Ff][Ii][Ll][Ee]:///*) place=/${1#*:///} ;;
    [Ff][Ii][Ll][Ee]://localhost/*) place=/${1#*://localhost/} ;;
    *://* | [Ff][Ii][Ll][Ee]:*) fail "$1 cannot be fetched from: --from names a folder, or a URL with http, https or file:///" ;;
    *) place=$1 ;;
  esac
  printf '%s\n' "${place%/}"
}

# The folder of this script, if a release lies there. A script that is read from a pipe, or given as a word, has none: $0 is
# then the name of the shell, and what lies in the current folder is nobody's choice.
own_folder() {
  case $0 in
    */*) own=${0%/*} ;;
    *.sh) own=. ;;
    *) own='' ;;
  esac
  case $- in
    *[cs]*) own='' ;;
  esac
  if [ -z "$own" ] || [ ! -f "$0" ] || [ ! -f "$own/SHA256SUMS" ]; then
    fail "there is nothing beside this script to install: add --from URL or --from DIR"
  fi
  printf '%s\n' "$own"
}

detect_target() {
  os=$(uname -s) machine=$(uname -m)
  case $machine in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no build for $machine processors, only for x86_64 and arm64" ;;
  esac
  case $os in
    Linux)
      if [ "$(getconf LONG_BIT 2>/dev/null || echo 64)" = 32 ]; then fail "this is a 32-bit system on a 64-bit kernel, which there is no build for"; fi
      printf 'linux-%s%s%s\n' "$arch" "$(detect_libc)" "$(detect_cpu "$arch")"
      ;;
    Darwin)
      # A shell that Rosetta translates calls an Apple processor x86_64.
      if [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || echo 0)" = 1 ]; then arch=arm64; fi
      echo "darwin-$arch"
      ;;
    *) fail "there is no build for $os, only for Linux and macOS" ;;
  esac
}

# A loader alone proves nothing: glibc systems can have musl's beside their own, and Alpine can have glibc's.
detect_libc() {
  case $(ldd --version 2>&1 || true) in
    *musl*) echo -musl ;;
    *GLIBC* | *GNU\ libc* | *"Free Software Foundation"*) ;;
    *)
      if getconf GNU_LIBC_VERSION >/dev/null 2>&1; then return; fi
      for loader in /lib/ld-musl-*.so.1; do
        if [ -e "$loader" ]; then echo -musl; fi
        return
      done
      ;;
  esac
}

# Without a list of what the processor can do, the build that asks for less is the safe one.
detect_cpu() {
  if [ "$1" = x64 ] && ! grep -qw avx2 /proc/cpuinfo 2>/dev/null; then echo -baseline; fi
}

install_folder() {
  if [ -n "${INSTALL_DIR:-}" ]; then
    case $INSTALL_DIR in
      /*) wanted=$INSTALL_DIR ;;
      *) wanted=$PWD/$INSTALL_DIR ;;
    esac
    while [ "${wanted%/}" != "$wanted" ] && [ "$wanted" != / ]; do wanted=${wanted%/}; done
    printf '%s\n' "$wanted"
  elif [ "$(id -u)" = 0 ]; then
    echo /usr/local/bin
  elif [ -n "${HOME:-}" ]; then
    printf '%s\n' "$HOME/.local/bin"
  else
    fail "there is no home directory: set INSTALL_DIR to a folder that you may write to"
  fi
}

# The staging folder is beside the executable, so that the last step is a rename within one file system.
prepare() {
  for program in tar gzip expr; do
    has "$program" || fail "$program is not here"
  done
  mkdir -p -- "$1" 2>/dev/null || fail "$1 cannot be made: set INSTALL_DIR to a folder that you may write to"
  [ ! -d "$1/orrery" ] || fail "$1/orrery is a folder: set INSTALL_DIR to another one"
  if [ "$stella" = yes ]; then check_link "$1/stella"; fi
  share=''
  if [ "${1##*/}" = bin ]; then share=${1%/bin}/share; fi
  remove_stale "$1"
  stage=$(mktemp -d "$1/.orrery-install-$$-$(start_of $$).XXXXXX" 2>/dev/null) || fail "$1 cannot be written to: set INSTALL_DIR to a folder that you may write to"
  trap 'remove_staged "${stage##*/}"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

# The name stella is taken only where it is free, or a link of an installation before.
check_link() {
  if [ ! -e "$1" ] && [ ! -L "$1" ]; then return; fi
  case $(readlink -- "$1" 2>/dev/null || true) in
    orrery | "${1%/*}/orrery") ;;
    *) fail "$1 is there and is not a link to orrery: move it away, or leave --stella out" ;;
  esac
}

# What installations left that were killed: each staging name bears the number of its process, and when that began, as
# numbers come again, in containers the same few.
remove_stale() {
  for stale in "$1"/.orrery-install-*; do
    owner=${stale##*/.orrery-install-} owner=${owner%%.*}
    if [ ! -d "$stale" ] || is_at_work "${owner%%-*}" "${owner#"${owner%%-*}"}"; then continue; fi
    remove_staged "${stale##*/}" 2>/dev/null || say "$stale is left of an installation that was killed, and cannot be removed"
  done
}

# is_at_work PID -START: without a start whoever has that number now, but for this process.
is_at_work() {
  kill -0 "$1" 2>/dev/null || [ -d "/proc/$1" ] || return 1
  if [ "${2:--0}" = -0 ]; then [ "$1" != $$ ]; else [ "-$(start_of "$1")" = "$2" ]; fi
}

# In ticks since the machine was started; 0: not known here.
start_of() {
  ticks=0
  if facts=$(cat "/proc/$1/stat" 2>/dev/null); then
    # The name in parentheses may hold anything; of what follows it is the 20th.
    # shellcheck disable=SC2086
    set -- ${facts##*) }
    ticks=${20:-0}
  fi
  printf '%s\n' "$ticks"
}

# remove_staged NAME: all that is staged under this name; the folder last, as it is what the rest is found by.
remove_staged() {
  if [ -n "$share" ]; then
    for place in $EXTRA_FOLDERS; do rm -f -- "$share/$place/$1"-*; done
  fi
  rm -rf -- "${folder:?}/$1"
}

# Brings one file from where the release is into the staging folder.
fetch() {
  case $from in
    *://*)
      say "Fetching $from/$1"
      download "$from/$1" "$stage/$1" || fail "$from/$1 could not be fetched: is that its address, and is there room in $folder?"
      ;;
    *)
      [ -f "$from/$1" ] || fail "$from/$1 is not there: --from names a folder or a URL with SHA256SUMS and archives"
      why=$(cp -- "$from/$1" "$stage/$1" 2>&1) || fail "$from/$1 could not be copied: ${why:-cp failed}. Make room in $folder, or set INSTALL_DIR to another folder"
      ;;
  esac
}

# apt's own helper is all that a bare Debian image has; for https it wants the package ca-certificates.
download() {
  if has curl; then
    quiet=-sS
    if [ -t 2 ]; then quiet=--progress-bar; fi
    curl -fL "$quiet" --retry 2 --connect-timeout 20 --speed-limit 1 --speed-time 60 -o "$2" "$1"
  elif has wget; then
    # Not -T: with it the wget of busybox 1.35 ends with a segmentation fault.
    wget -q -O "$2" "$1"
  elif [ -x /usr/lib/apt/apt-helper ]; then
    # As root it would say that it stays root, as its own user may not write here.
    /usr/lib/apt/apt-helper -qq -o APT::Sandbox::User=root download-file "$1" "$2" >&2
  else
    fail "neither curl nor wget is here: install one of them, or fetch the archive and SHA256SUMS yourself and use --from DIR"
  fi
}

# Prints the name of the archive for a target, and fails if none is listed. What asks for less of the processor does too.
choose() {
  wanted=${VERSION:-} found='' newest='' listed=''
  wanted=${wanted#v}
  find_archive "$1"
  case $detected-$1 in
    yes-*-baseline) ;;
    yes-linux-x64*) find_archive "$1-baseline" ;;
  esac
  if [ -n "$found" ]; then
    printf '%s\n' "$found"
  elif [ -n "$listed" ]; then
    fail "version $wanted is not listed in $from/SHA256SUMS, only$listed"
  else
    fail "$from/SHA256SUMS lists no archive for $1${others:+, only$others}"
  fi
}

# Sets found to the name of the archive for a target: of VERSION, else of the newest version, if that is newer than found.
find_archive() {
  others=''
  while read -r _ name || [ -n "${name:-}" ]; do
    name=${name#\*} name=${name%"$cr"}
    case $name in
      */*) continue ;;
      orrery-*-"$1".tar.gz) ;;
      orrery-*.tar.gz)
        others="$others $name"
        continue
        ;;
      *) continue ;;
    esac
    version=${name#orrery-}
    version=${version%-"$1".tar.gz}
    case " $listed " in
      *" $version "*) ;;
      *) listed="$listed $version" ;;
    esac
    if [ -n "$wanted" ]; then
      if [ "$version" = "$wanted" ] && [ -z "$found" ]; then found=$name; fi
    elif [ -z "$found" ] || is_better "$version" "$newest"; then
      found=$name newest=$version
    fi
  done <"$stage/SHA256SUMS"
}

# is_better A B: the newer of two versions, but nobody gets a pre-release who did not ask for it.
is_better() {
  case ${1%%+*}/${2%%+*} in
    *-*/*-*) is_newer "$1" "$2" ;;
    *-*/*) return 1 ;;
    */*-*) return 0 ;;
    *) is_newer "$1" "$2" ;;
  esac
}

# is_newer A B, as semver.org orders them: part by part, and a pre-release before its release. What stands behind "+" does
# not count.
is_newer() {
  one=${1%%+*} two=${2%%+*}
  compare "${one%%-*}" "${two%%-*}"
  if [ "$order" = 0 ]; then
    case $one/$two in
      *-*/*-*) compare "${one#*-}" "${two#*-}" ;;
      */*-*) order=1 ;;
    esac
  fi
  [ "$order" = 1 ]
}

# compare A B: sets order to -1, 0 or 1 by the parts between the dots, of which one that is not there is less.
compare() {
  order=0
  set -- "$1." "$2."
  while [ "$order" = 0 ] && [ -n "$1$2" ]; do
    compare_parts "${1%%.*}" "${2%%.*}"
    set -- "${1#*.}" "${2#*.}"
  done
}

# Numbers as numbers, and less than words. Of two numbers the longer one is more, as long as none begins with 0.
compare_parts() {
  if [ "$1" = "$2" ]; then return; fi
  order=1
  case $1/$2 in
    *[!0-9]*/*[!0-9]*) if LC_ALL=C expr "x$1" '<' "x$2" >/dev/null; then order=-1; fi ;;
    *[!0-9]*/*) ;;
    */*[!0-9]*) order=-1 ;;
    *) if [ "${#1}" -lt "${#2}" ] || { [ "${#1}" = "${#2}" ] && LC_ALL=C expr "x$1" '<' "x$2" >/dev/null; }; then order=-1; fi ;;
  esac
}

# What is installed is replaced by something older only by who asks for that.
look_back() {
  before=$("$folder/orrery" version 2>/dev/null </dev/null || true)
  held=${before#orrery } held=${held%% *}
  case $before in
    orrery\ [0-9]*) ;;
    *) return 0 ;;
  esac
  version=${1#orrery-} version=${version%.tar.gz}
  for each in $targets; do version=${version%-"$each"}; done
  if ! is_newer "$held" "$version"; then return 0; fi
  if [ -n "${VERSION:-}" ]; then
    say "Going back from $held, which is installed, to $version, which is older: VERSION asks for it"
  else
    fail "$held is installed, and the newest release in $from is $version: to go back to it, set VERSION=$version"
  fi
}

check() {
  expected=''
  while read -r sum name || [ -n "${name:-}" ]; do
    name=${name#\*} name=${name%"$cr"}
    if [ "$name" = "$1" ]; then expected=$sum; fi
  done <"$stage/SHA256SUMS"
  actual=$(sum_of "$stage/$1")
  # Some programs write sums in capitals.
  printf '%s\n' "$expected" | grep -qixF -- "$actual" || fail "$1 is not what SHA256SUMS says it is (it has $actual, not $expected): fetch it again"
}

sum_of() {
  if has sha256sum; then
    line=$(sha256sum <"$1") || fail "the sum of ${1##*/} could not be made"
  elif has shasum; then
    line=$(shasum -a 256 <"$1") || fail "the sum of ${1##*/} could not be made"
  elif has openssl; then
    line=$(openssl dgst -sha256 -r <"$1") || fail "the sum of ${1##*/} could not be made"
  else
    fail "no program that makes SHA-256 sums is here (sha256sum, shasum or openssl)"
  fi
  printf '%s\n' "${line%% *}"
}

unpack() {
  say "Unpacking $1"
  tar -xzf "$stage/$1" -C "$stage" || fail "$1 could not be unpacked: make room in $folder, or fetch it again"
  unpacked=$stage/${1%.tar.gz}
  [ -f "$unpacked/orrery" ] || fail "$1 does not hold the executable"
  chmod 755 "$unpacked/orrery" || fail "$unpacked/orrery cannot be made a program: set INSTALL_DIR to another folder"
}

# An executable for another machine, or one that lacks a library, is found here and not by its first user.
try_out() {
  # Without it the engine gives up at once, with a report that names no cause.
  if [ "$(uname -s)" = Linux ] && [ ! -e /proc/self ]; then fail "/proc is not mounted here: mount -t proc proc /proc"; fi
  if installed=$("$unpacked/orrery" version 2>/dev/null); then return; fi
  said=$("$unpacked/orrery" version 2>&1 | head -n 3 || true)
  case $1-$said in
    *-musl*libstdc++* | *-musl*libgcc*) fail "the build for $1 needs the C++ library of this system: apk add libstdc++" ;;
    *Permission\ denied*) fail "nothing can be started from $folder (is it mounted with noexec?): set INSTALL_DIR to another folder" ;;
    linux-x64* | linux-arm64*) fail "the build for $1 does not run here: ${said:-it was killed}. Try another one with --target" ;;
    *) fail "the build for $1 does not run here: ${said:-it was killed}" ;;
  esac
}

put_in_place() {
  if [ "$stella" = yes ]; then ln -s orrery "$stage/stella" || fail "there can be no links in $folder: leave --stella out"; fi
  why=$(mv -f -- "$unpacked/orrery" "$folder/orrery" 2>&1) || fail "$folder/orrery cannot be replaced: ${why:-mv failed}. Move it away, or set INSTALL_DIR to another folder"
  if [ "$stella" = yes ]; then mv -f -- "$stage/stella" "$folder/stella" || fail "$folder/stella cannot be replaced, but $folder/orrery was: move it away, and do this again"; fi
  put_extras
  if [ -n "$before" ] && [ "$before" != "$installed" ]; then say "Was $before"; fi
  say "Installed $folder/orrery: $installed"
  case :$PATH: in
    *:"$folder":*) ;;
    *) say "$folder is not on your PATH: add it, for example in ~/.profile: export PATH=\"$folder:\$PATH\"" ;;
  esac
  tell_completions
}

# Manual pages and completions go to where man and some shells look, documents to share/doc, if the executable is in a folder
# "bin".
stage_extras() {
  [ -n "$share" ] || return 0
  stage_extra docs/ doc/orrery
  stage_extra orrery.service doc/orrery
  stage_extra LICENSE doc/orrery
  stage_extra THIRD-PARTY-NOTICES.txt doc/orrery
  stage_extra man/orrery.1 man/man1
  stage_extra completions/orrery.bash bash-completion/completions orrery
  stage_extra completions/_orrery zsh/site-functions
  stage_extra completions/orrery.fish fish/vendor_completions.d
  if [ "$stella" = no ]; then return 0; fi
  stage_extra completions/stella.bash bash-completion/completions stella
  stage_extra completions/_stella zsh/site-functions
  stage_extra completions/stella.fish fish/vendor_completions.d
}

# stage_extra FILE FOLDER [NAME]: beside its place, so that what is left to do is a rename. A folder of somebody else's is
# passed over (in a subshell, as a shell ends where ":" cannot write); a disk without room ends the installation.
stage_extra() {
  for file in "$unpacked/${1%.1}"*; do
    # Older archives have none for stella.
    [ -e "$file" ] || continue
    name=${3:-${file##*/}}
    fresh=$share/$2/${stage##*/}-$name
    if ! mkdir -p -- "$share/$2" 2>/dev/null || [ -d "$share/$2/$name" ] || ! (: >"$fresh") 2>/dev/null; then
      say "$share/$2 cannot be written to: ${1%%/*} for it is left out"
      return 0
    fi
    why=$(cp -- "$file" "$fresh" 2>&1) || fail "$share/$2/$name cannot be written: ${why:-cp failed}. Make room there, or set INSTALL_DIR to another folder"
  done
}

put_extras() {
  [ -n "$share" ] || return 0
  for place in $EXTRA_FOLDERS; do
    for fresh in "$share/$place/${stage##*/}"-*; do
      [ -f "$fresh" ] || continue
      name=${fresh##*/"${stage##*/}"-}
      mv -f -- "$fresh" "$share/$place/$name" || say "$share/$place/$name cannot be replaced: it stays as it was"
    done
  done
}

# Where a shell looks depends on who built it. Each that is here is asked, but for what its user has configured: what it does
# not find, its user is told how to add.
tell_completions() {
  if [ -z "$share" ]; then
    say "For completions: $folder/orrery completions --help"
    return 0
  fi
  if has bash && [ -f "$share/bash-completion/completions/orrery" ] && ! bash_finds; then
    tell_completion bash .bashrc ". \"$share/bash-completion/completions/orrery\""
    if [ "$stella" = yes ]; then tell_completion bash .bashrc ". \"$share/bash-completion/completions/stella\""; fi
  fi
  if [ -f "$share/zsh/site-functions/_orrery" ] && has zsh && ! zsh_finds "$share/zsh/site-functions"; then
    tell_completion zsh ".zshrc, above compinit" "fpath=(\"$share/zsh/site-functions\" \$fpath)"
  fi
  if [ -f "$share/fish/vendor_completions.d/orrery.fish" ] && has fish && ! fish_finds; then
    tell_completion fish .config/fish/config.fish "set -a fish_complete_path \"$share/fish/vendor_completions.d\""
  fi
}

tell_completion() { say "$1 does not find the completions by itself: add to ~/$2: $3"; }

# bash itself looks nowhere; the package bash-completion does, by the PATH too.
bash_finds() {
  for package in /usr/share /usr/local/share /opt/homebrew/share; do
    if [ ! -f "$package/bash-completion/bash_completion" ]; then continue; fi
    # shellcheck disable=SC2016
    BASH_ENV='' BASH_COMPLETION_USER_FILE=/dev/null PATH=$folder:$PATH bash --norc -c '
      . "$1/bash-completion/bash_completion"
      if declare -F _comp_load; then _comp_load orrery; else __load_completion orrery; fi
      complete -p orrery' bash "$package" </dev/null >/dev/null 2>&1
    return
  done
  return 1
}

zsh_finds() {
  # shellcheck disable=SC2016
  zsh -f -c 'for each in $fpath; do if [[ $each -ef $1 ]]; then exit 0; fi; done; exit 1' zsh "$1" </dev/null >/dev/null 2>&1
}

# With a home of its own it neither runs what its user wrote nor makes files there; where it looks in that home, it looks in
# the user's.
fish_finds() {
  place=$share/fish/vendor_completions.d
  if [ "$share" = "${XDG_DATA_HOME:-${HOME:-}/.local/share}" ]; then place=$stage/share/fish/vendor_completions.d; fi
  # shellcheck disable=SC2016
  HOME=$stage XDG_CONFIG_HOME=$stage/config XDG_DATA_HOME=$stage/share XDG_CACHE_HOME=$stage/cache \
    fish -c 'contains -- $argv[1] $fish_complete_path' "$place" </dev/null >/dev/null 2>&1
}

# All of it is read before any of it runs: a script that comes through a pipe and breaks off does nothing.
main "$@"
