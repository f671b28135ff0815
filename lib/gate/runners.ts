/**
 * What is known of programs by their names: which run none of their arguments, which run another program, and which take
 * what they run, or code that they load, from the folder they are started in. A name that is not here is a program that
 * may run a file it is given and nothing else.
 */

function named(names: string): ReadonlySet<string> {
  return new Set(names.trim().split(/\s+/));
}

/** They open no file by an argument, and run none. Built into a shell or not. */
export const TALKERS = named(`
  : [ basename break case continue date dirname echo exit expr false for getopts id jobs kill let logger nproc printf pwd read return select
  seq shift sleep sync test true tty type ulimit umask uname unset uptime wait which who whoami yes
`);

/** What they open they only read or write; they run none of it. */
export const READERS = named(`
  cal cat cksum cmp comm curl cut df diff du egrep fgrep file fold grep head hexdump hostname jq ls md5sum mkdir mktemp nl od paste ps
  readlink realpath rev rm rmdir sha1sum sha256sum sha512sum shasum stat sum tac tail tee touch tr tsort unexpand uniq wc xxd
`);

/** A flag of `curl` that names a file of more flags. */
export const CURL_CONFIG = /^(?:-\w*K|--config)/;

/** What they are given is a program that can start others. */
export const TEXT_PROGRAMS = named("awk gawk mawk nawk sed gsed");

/** Their arguments hold a command: as words, or as a text for a shell. */
export const CARRIERS = named(`
  builtin busybox bwrap cgexec chpst chroot chrt chronic command daemonize dbus-run-session doas dtach env envdir
  exec expect fakeroot firejail flock gnome-terminal gosu gtimeout gstdbuf gnice hyperfine inotifywait ionice linux32 linux64
  logsave ltrace machinectl nice nohup nsenter numactl parallel pkexec prlimit proot proxychains proxychains4 reptyr
  rlwrap runcon runuser schedtool schroot screen script setarch setpriv setsid setuidgid softlimit sshpass start-stop-daemon stdbuf
  strace su su-exec sudo systemd-inhibit systemd-run taskset tcpserver time timeout tini tmux toybox trap trickle tsp unbuffer unshare valgrind
  viddy watch watchexec with-contenv xargs xterm xvfb-run 
`);

/** They run the file they are given first, or a text behind `-c`. */
export const SHELLS = named("sh bash dash zsh ksh mksh ash yash fish rbash");

/** They run the file they are given first, and look for more in that file's folder, not in their own. */
export const SCRIPT_RUNNERS = named("python node nodejs perl ruby php . source");

/** Of these, the flags that lead to no code. */
export const HARMLESS_FLAGS: ReadonlyMap<string, RegExp> = new Map([
  ["python", /^-[BEIOPSbdqstuv]+$|^-[BEIOPSbdqstuv]*(?:W[a-z]+|X[a-z\d_]+(?:=\d+)?)$/],
  ["perl", /^-[wWtTX]+$|^-C[A-Z\d]*$/],
  ["ruby", /^-[wW]\d?$|^--disable[-=]gems$/],
  ["php", /^-[qn]$/],
  [
    "node",
    /^--(?:no-warnings|disable-warning=\w+|no-deprecation|enable-source-maps|trace-warnings|harmony|max-old-space-size=\d+|experimental-(?:strip-types|transform-types|vm-modules))$/,
  ],
]);

/** Of these, the flags whose value is the next word. */
export const VALUED_FLAGS: ReadonlyMap<string, RegExp> = new Map([["python", /^-[BEIOPSbdqstuv]*[WX]$/]]);

/** They run, or load code, by the folder they are started in. */
export const FOLDER_RUNNERS = named(`
  act alembic ansible ansible-galaxy ansible-playbook ant artisan at autoreconf ava babel batch bazel bazelisk bb behat biome boot bmake
  brew buck buck2 buildah bun bundle bundler bunx cabal cake capistrano cargo cargo-make cd clj clojure cmake composer conan
  corepack coverage crystal csi ctest cucumber cypress dagger dart deno devbox devenv direnv django-admin docker docker-compose doit
  dotenv dotnet dub dune earthly electron elixir emacs erl escript esbuild eslint eval ex fab fastlane fastmod fd fdfind flake8 flask flutter foreman forge
  gem gh ghc ghci git git-lfs gmake go gradle gradlew grunt guile gulp gunicorn hardhat hatch helm hg honcho husky iex
  invoke inv ipython irb jazzer jekyll jest jj julia jupyter just karma lage lake lefthook lein lerna lldb lua luajit luarocks magefile mage
  make mage meson mill mise mix mkdocs mocha moon msbuild mvn mvnw mypy ng nim nimble ninja nix nix-build nix-shell nodemon nox npm npx nu
  nuxt nvim nx nyc overmind ocaml pants parcel pdm perlcritic phing php-cs-fixer phpstan phpunit pip pipenv pipx playwright pm2 pnpm pnpx
  podman podman-compose poe poetry pre-commit prettier procs prove pry psalm pulumi pushd popd pwsh py pylint pypy pytest py.test racket raku rails rake rebar rebar3
  redo remake rollup rspec rubocop ruff run-parts runghc runhaskell rush rustup rye sapper sbt scala scons serverless sls
  skaffold snakemake sphinx-build sqlx stack stylelint supervisord svn swc swift swipl task taskfile tclsh terraform
  terragrunt thor tilt tofu tox ts-node ts-node-esm ts-node-dev tsc tsx turbo tusk unittest uv uvicorn uvx vagrant vi vim vite vitest volta 
  waf webpack wish wp wrangler xcodebuild xmake xo yarn yarnpkg yo zig zx rscript 
`);

/** Of what is named above, the first argument with which it does not. */
export const APART_FROM_FOLDER: ReadonlyMap<string, RegExp> = new Map([["docker", /^(?:run|exec)$/], ["podman", /^(?:run|exec)$/]]);

/** Variables that decide which code a program loads or which program it starts. */
export const STEERING =
  /(?:PATH|PRELOAD|LIBS?|OPT|OPTS|OPTIONS|ARGS|FLAGS|SHELL|EDITOR|PAGER|STARTUP|HOME|COMMAND|IFS)$|^(?:LD_|DYLD_|GIT_|BASH_|npm_)/;

/** Without what only says which version it is: `python3.12`, `nodejs-22`, `PHP8`. */
export function programFamily(name: string): string {
  return name.toLowerCase().replace(/(?<=[a-z])(?:-?\d[\d.]*)?(?:\.exe|\.cmd)?$/, "");
}
