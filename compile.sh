#!/bin/sh
# Builds Orrery into one executable, and releases out of executables: `sh compile.sh --help`.
set -eu

usage() {
  cat <<'EOT'
Usage: sh compile.sh [--target TARGET | --all] [--archive] [--output DIR]

Without --archive: builds dist/orrery for this machine, or dist/orrery-TARGET for another one.
With --archive, which --all implies: writes what is published to dist/release:
  orrery-VERSION-TARGET.tar.gz   the executable, licences, documents, manual pages, completions, service unit
  SHA256SUMS  manifest.json  install.sh
What other versions and targets have there stays, listed. The same commit gives the same bytes. Without a repository, ORRERY_COMMIT names the commit and SOURCE_DATE_EPOCH its time.

--output DIR  writes there instead
Targets: linux-x64  linux-x64-baseline  linux-x64-musl  linux-x64-musl-baseline
         linux-arm64  linux-arm64-musl  darwin-arm64  darwin-x64
EOT
}

targets="linux-x64 linux-x64-baseline linux-x64-musl linux-x64-musl-baseline linux-arm64 linux-arm64-musl darwin-arm64 darwin-x64"

fail() {
  echo "$1" >&2
  exit "${2:-2}"
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

# The target that this machine is.
host_target() {
  libc='' cpu=''
  if ldd --version 2>&1 | grep -q musl; then libc=-musl; fi
  if ! grep -qw avx2 /proc/cpuinfo 2>/dev/null; then cpu=-baseline; fi
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo "linux-x64$libc$cpu" ;;
    Linux-aarch64) echo "linux-arm64$libc" ;;
    Darwin-arm64) echo darwin-arm64 ;;
    Darwin-x86_64) echo darwin-x64 ;;
    *) fail "Cannot build on $(uname -s) $(uname -m)" ;;
  esac
}

# bundle TARGET [OPTIONS OF BUN]
# The two entries are one program and its worker thread: a worker is found in the executable only if it is an entry.
bundle() {
  target=$1
  shift
  node_modules/.bin/bun build --minify --splitting --format=esm \
    --define "ORRERY_VERSION=\"$version\"" --define "ORRERY_COMMIT=\"$commit\"" --define "ORRERY_TARGET=\"$target\"" \
    --define "ORRERY_EPOCH=\"$epoch\"" "$@" cli/main.ts lib/supervisor/worker.ts >&2
}

# What the executable is made of is known from a bundle, and has to be in the executable: so there is one more before.
write_notices() {
  bundle "" --target=bun --metafile="$scratch/bundle.json" --outdir "$scratch/bundle" 2>"$scratch/said" || {
    cat "$scratch/said" >&2
    exit 1
  }
  node_modules/.bin/bun scripts/notices.ts "$scratch/bundle.json" >"$scratch/THIRD-PARTY-NOTICES.txt"
  node_modules/.bin/bun -p 'JSON.stringify(await Bun.file(process.argv[1]).text())' "$scratch/THIRD-PARTY-NOTICES.txt" >"$scratch/notices.json"
}

# build TARGET FILE [OPTIONS OF BUN]
# Without the two --no-compile-autoload flags the executable would obey a bunfig.toml and a .env of whatever folder it
# is started in; without --compile-autoload-package-json a tool file could import no package whose package.json says
# where its entry is.
build() {
  target=$1 file=$2
  shift 2
  echo "Building $file ($version, $commit)" >&2
  bundle "$target" --compile --bytecode \
    --no-compile-autoload-bunfig --no-compile-autoload-dotenv --compile-autoload-package-json \
    --define "ORRERY_NOTICES=$(cat "$scratch/notices.json")" "$@" --outfile "$scratch/orrery"
  chmod 755 "$scratch/orrery"
}

# One archive of $scratch/orrery, with a folder in it that bears the archive's name.
archive() {
  name=orrery-$version-$1
  mkdir -p "$scratch/$name"
  mv -- "$scratch/orrery" "$scratch/$name/orrery"
  cp -R -- "$scratch/extras/." "$scratch/$name/"
  "$tar" -C "$scratch" --format=ustar --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX -cf "$scratch/$name.tar" "$name"
  gzip -9 -n -f "$scratch/$name.tar"
  describe "$1" "$scratch/$name" "$scratch/$name.tar.gz" >>"$scratch/targets"
  mv -- "$scratch/$name.tar.gz" "$scratch/release/"
  rm -rf -- "${scratch:?}/$name"
}

# One entry of the manifest. A target counts as run if this machine has played the demo with it: engine, worker, journal, a tool.
describe() {
  mkdir -p "$scratch/home"
  if ORRERY_HOME=$scratch/home TMPDIR=$scratch/home "$2/orrery" demo >"$scratch/ran" 2>&1; then
    ran=true
  else
    ran=false
    echo "$1 does not play the demo on this machine, and the manifest says so. Its last words: $(tail -n 1 "$scratch/ran")" >&2
  fi
  os=${1%%-*} libc=null cpu=null
  case $1 in
    linux*-musl*) libc='"musl"' ;;
    linux*) libc='"glibc"' ;;
  esac
  case $1 in
    # Bun 1.4.5 has one engine for all of x86-64, which uses AVX2 where it is.
    linux-x64*) cpu='"x86-64-v2"' ;;
  esac
  arch=${1#"$os"-} arch=${arch%%-*}
  printf '{"target":"%s","version":"%s","commit":"%s",' "$1" "$version" "$commit"
  printf '"os":"%s","arch":"%s","libc":%s,"cpu":%s,' "$os" "$arch" "$libc" "$cpu"
  printf '"archive":"%s","archive_bytes":%s,"archive_sha256":"%s",' "${3##*/}" "$(bytes_of "$3")" "$(sum_of "$3")"
  printf '"binary_bytes":%s,"binary_sha256":"%s","ran":%s}\n' "$(bytes_of "$2/orrery")" "$(sum_of "$2/orrery")" "$ran"
}

bytes_of() { wc -c <"$1" | tr -d ' '; }

sum_of() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# What goes into every archive beside the executable.
gather_extras() {
  mkdir -p "$scratch/extras/completions" "$scratch/extras/docs"
  cp -- LICENSE README.md CHANGELOG.md CONTRIBUTING.md ARCHITECTURE.md docs/orrery.service "$scratch/THIRD-PARTY-NOTICES.txt" \
    "$scratch/extras/"
  documents | while read -r page; do
    if [ -f "$page" ]; then cp -- "$page" "$scratch/extras/docs/"; fi
  done
  SOURCE_DATE_EPOCH=$epoch node_modules/.bin/bun cli/main.ts man --output "$scratch/extras/man" >&2
  for name in orrery stella; do
    node_modules/.bin/bun cli/main.ts completions bash --name "$name" >"$scratch/extras/completions/$name.bash"
    node_modules/.bin/bun cli/main.ts completions zsh --name "$name" >"$scratch/extras/completions/_$name"
    node_modules/.bin/bun cli/main.ts completions fish --name "$name" >"$scratch/extras/completions/$name.fish"
  done
}

# The pages that the commit has, where there is one: what lies beside them is no part of it.
documents() {
  if [ "$tracked" = yes ]; then git -c core.quotePath=false ls-files -- ':(glob)docs/*.md'; else printf '%s\n' docs/*.md; fi
}

# GNU tar: no other has all that an archive needs to come out the same again.
find_tar() {
  for tar in gtar tar; do
    if "$tar" --version 2>/dev/null | grep -q 'GNU tar'; then return; fi
  done
  fail "Cannot write archives: they need GNU tar (macOS: brew install gnu-tar)" 1
}

# The archives come first and the lists of them last: whoever reads a list finds what it names. An archive that was there
# before keeps its line.
publish() {
  cp -- install.sh "$scratch/install.sh"
  (cd -- "$scratch/release" && for file in *; do printf '%s  %s\n' "$(sum_of "$file")" "$file"; done) >"$scratch/sums"
  keep_sums >"$scratch/SHA256SUMS"
  {
    printf '{"schema_version":1,"name":"orrery","version":"%s","commit":"%s","source_date_epoch":%s,"bun":"%s","targets":[\n' \
      "$version" "$commit" "$epoch" "$(node_modules/.bin/bun --version)"
    { keep_targets && cat "$scratch/targets"; } | sed '$!s/$/,/'
    printf ']}\n'
  } >"$scratch/manifest.json"
  mv -f -- "$scratch/release"/* "$output/"
  mv -f -- "$scratch/SHA256SUMS" "$scratch/manifest.json" "$scratch/install.sh" "$output/"
  echo "Wrote $output" >&2
}

keep_sums() {
  if [ -f "$output/SHA256SUMS" ]; then
    while read -r sum file; do
      if [ -e "$scratch/release/$file" ]; then grep -F "  $file" "$scratch/sums"
      elif [ -e "$output/$file" ]; then printf '%s  %s\n' "$sum" "$file"; fi
    done <"$output/SHA256SUMS"
  fi
  while read -r sum file; do
    if ! grep -qsF "  $file" "$output/SHA256SUMS"; then printf '%s  %s\n' "$sum" "$file"; fi
  done <"$scratch/sums"
}

# The manifest has one target a line.
keep_targets() {
  [ -f "$output/manifest.json" ] || return 0
  sed -n 's/^\({"target":.*}\),\{0,1\}$/\1/p' "$output/manifest.json" | while read -r line; do
    file=${line#*\"archive\":\"} file=${file%%\"*}
    if [ ! -e "$scratch/release/$file" ] && [ -e "$output/$file" ]; then printf '%s\n' "$line"; fi
  done
}

wanted=host archives=no output=
while [ $# -gt 0 ]; do
  case $1 in
    --target | --output)
      [ $# -ge 2 ] || fail "Cannot build: $1 needs a value (see sh compile.sh --help)"
      if [ "$1" = --target ]; then wanted=$2; else output=$2; fi
      shift
      ;;
    --target=*) wanted=${1#--target=} ;;
    --output=*) output=${1#--output=} ;;
    --all) wanted=$targets archives=yes ;;
    --archive) archives=yes ;;
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

case $output in
  "" | /*) ;;
  *) output=$PWD/$output ;;
esac
cd -- "$(dirname -- "$0")"
sh .ci/setup.sh
version=$(sed -n 's/^ *"version": "\([^"]*\)",*$/\1/p' package.json)
epoch=${SOURCE_DATE_EPOCH:-0} tracked=no
if [ -e .git ] && git rev-parse --verify -q HEAD >/dev/null 2>&1; then tracked=yes; fi
# Only a commit of this very folder counts: an unpacked archive may lie inside another repository.
if [ -n "${ORRERY_COMMIT:-}" ]; then
  commit=$ORRERY_COMMIT
elif [ "$tracked" = yes ]; then
  commit=$(git rev-parse --short=12 HEAD)
  epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
  # A file that is not tracked counts only where the program is made of what lies there.
  [ -z "$(git status --porcelain --untracked-files=no)$(git ls-files --others --exclude-standard -- cli lib)" ] || commit=$commit-modified
else
  commit=unknown
fi

if [ "$archives" = yes ]; then find_tar; output=${output:-$PWD/dist/release}; else output=${output:-$PWD/dist}; fi
mkdir -p -- "$output"
scratch=$(mktemp -d "$output/.building-XXXXXX")
trap 'rm -rf -- "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

write_notices
if [ "$archives" = yes ]; then
  [ "$wanted" != host ] || wanted=$(host_target)
  gather_extras
  mkdir "$scratch/release"
  for target in $wanted; do
    build "$target" "$output/orrery-$version-$target.tar.gz" --target="$(bun_target "$target")"
    archive "$target"
  done
  publish
elif [ "$wanted" = host ]; then
  build "$(host_target)" "$output/orrery"
  mv -f -- "$scratch/orrery" "$output/orrery"
else
  build "$wanted" "$output/orrery-$wanted" --target="$(bun_target "$wanted")"
  mv -f -- "$scratch/orrery" "$output/orrery-$wanted"
fi
