/** Bodies of the kind that people write, none of which runs anything of a value: all load, and nothing is told of. */
export const COMMON_SCRIPTS: readonly string[] = [
  "kubectl get pods -n {{ a }} {{# b }}-l {{ b }}{{/ b }}",
  "kubectl logs -n {{ a }} deploy/{{ b }} --tail={{ n }}",
  "kubectl rollout status deployment/{{ a }} -n {{ b }} --timeout=60s || kubectl describe deployment {{ a }} -n {{ b }}",
  `set -euo pipefail
ctx=$(kubectl config current-context)
if [[ "$ctx" == *prod* ]]; then echo "refusing on $ctx" >&2; exit 1; fi
kubectl scale deployment {{ a }} --replicas={{ n }}`,
  `for ns in {{ l }}; do
  echo "== $ns"
  kubectl get events -n "$ns" --sort-by=.lastTimestamp | tail -n {{ n }}
done`,
  `kubectl get secret {{ a }} -o jsonpath='{.data}' | jq -r 'to_entries[] | "\\(.key)=\\(.value|@base64d)"'`,
  "git log --oneline -n {{ n }} -- {{ a }}",
  "git fetch origin && git switch -c {{ a }} origin/main",
  "git diff --stat {{ a }}...{{ b }} | tail -1",
  `branch=$(git rev-parse --abbrev-ref HEAD)
if [ "$branch" = main ]; then echo "not on main"; exit 1; fi
git commit -m {{ a }} && git push -u origin "$branch"`,
  "git log --since={{ a }} --pretty=format:'%h %an %s' | head -n 50",
  `count=$(git rev-list --count HEAD)
echo "commits: $((count + 0))"; git show {{ a }}`,
  "git blame -L {{ n }},+10 -- {{ a }}",
  "git stash list | grep {{ a }} || true",
  "docker build -t {{ a }} --build-arg VERSION={{ b }} .",
  "docker compose -f docker-compose.yml logs --tail 100 {{ a }}",
  "docker exec {{ a }} ls -la {{ b }}",
  "docker ps --filter name={{ a }} --format '{{.Names}} {{.Status}}'",
  'docker run --rm -v "$PWD:/src" -w /src -e TOKEN={{ a }} node:20 npm test',
  'curl -fsS -H "Accept: application/json" https://api.example.com/users/{{ a }} | jq .',
  `status=$(curl -s -o /dev/null -w '%{http_code}' {{ a }})
if [ "$status" -ge 400 ]; then echo "bad: $status"; exit 1; fi`,
  `curl -sS -X POST -H 'Content-Type: application/json' -d @- https://api.example.com/v1 <<EOF
{"name": "{{ n }}"}
EOF`,
  "curl -G --data-urlencode q={{ a }} https://api.example.com/search | jq -r '.items[].name'",
  "jq --arg k {{ a }} '.[$k]' package.json",
  "jq -n --arg t {{ a }} --argjson n {{ n }} '{title: $t, count: $n}' | curl -sS -d @- https://example.com",
  "rg -n --hidden -g '!node_modules' -e {{ a }} -- {{ b }} | head -200",
  "rg -c -- {{ a }} src | sort -t: -k2 -nr | head",
  'psql "$DATABASE_URL" -v id={{ a }} -f query.sql',
  `psql "$DATABASE_URL" -At -v name={{ a }} <<'SQL'
select * from users where name = :'name';
SQL`,
  "terraform plan -var env={{ a }} -out=tf.plan && terraform show -json tf.plan | jq '.resource_changes | length'",
  "cd infra && terraform workspace select {{ a }} && terraform output -json",
  "npm run test -- --grep {{ a }}",
  "npm view {{ a }} versions --json | jq -r '.[-5:][]'",
  "npx eslint --format json {{ l }} | jq '[.[].errorCount] | add'",
  "make -C {{ a }} build",
  "ffmpeg -y -i {{ a }} -vf scale={{ n }}:-2 -c:v libx264 -crf 23 {{ b }}",
  `dur=$(ffprobe -v error -show_entries format=duration -of csv=p=0 {{ a }})
echo "duration: $dur"`,
  "aws s3 ls s3://{{ a }}/ --recursive | tail -n {{ n }}",
  "aws logs filter-log-events --log-group-name {{ a }} --start-time $(( ($(date +%s) - 3600) * 1000 )) --filter-pattern {{ b }}",
  "aws ec2 describe-instances --filters Name=tag:Name,Values={{ a }} --query 'Reservations[].Instances[].InstanceId' --output text",
  `gh pr list --search {{ a }} --json number,title --jq '.[] | "\\(.number) \\(.title)"'`,
  "gh issue create --title {{ a }} --body {{ b }}",
  `tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
curl -fsSL -o "$tmp/x.tgz" {{ a }}
tar -xzf "$tmp/x.tgz" -C "$tmp" && ls -R "$tmp"`,
  "find {{ a }} -type f -name {{ b }} -size +{{ n }}k -print0 | xargs -0 ls -lh",
  "find . -name '*.ts' -newer {{ a }} -exec grep -l TODO {} +",
  'while IFS= read -r f; do echo "$f: $(wc -l < "$f")"; done < <(git ls-files -- {{ a }})',
  `i=0
while [ "$i" -lt 30 ]; do
  if curl -fsS {{ a }} >/dev/null; then echo up; exit 0; fi
  i=$((i + 1)); sleep 1
done
exit 1`,
  `retry() { local n=$1; shift; local i=0; until "$@"; do i=$((i + 1)); (( i >= n )) && return 1; sleep $((2 ** i)); done; }
retry 5 curl -fsS {{ a }}`,
  `log() { printf '%s %s\\n' "$(date +%T)" "$*" >&2; }
log "building"; docker build -t {{ a }} . && log done`,
  'start={{ n }}; end=$((start + 20)); sed -n "${start},${end}p" {{ a }}',
  "python3 -m pytest -q -k {{ a }} {{ b }}",
  `python3 - {{ a }} {{ b }} <<'PY'
import sys, json
print(json.dumps({"a": sys.argv[1], "b": sys.argv[2]}))
PY`,
  'python3 scripts/report.py --since {{ a }} --out "$PWD/report.html"',
  "node scripts/gen.js {{ a }} > out.json && jq . out.json",
  `cat > notes.md <<EOF
# {{ a }}
EOF
git add notes.md && git commit -m {{ b }}`,
  `printf '%s\\n' {{ l }} | sort -u | while read -r x; do echo "- $x"; done`,
  `total=0
for f in {{ l }}; do n=$(stat -c %s -- "$f"); total=$((total + n)); done
echo "$total bytes"`,
  "n=$(grep -c {{ a }} log.txt); if (( n > 10 )); then echo many; fi",
  "lines=$(wc -l < {{ a }}); echo $(( lines / 2 ))",
  `case {{ a }} in dev|staging) env={{ a }};; *) echo bad >&2; exit 2;; esac
./deploy.sh "$env"`,
  "./gradlew test --tests {{ a }}",
  "cargo test {{ a }} -- --nocapture 2>&1 | tail -40",
  "go test ./... -run {{ a }} -count=1 | grep -v '^ok' | head",
  "ssh-keygen -lf {{ a }}",
  'sqlite3 -json app.db "select count(*) from t" && echo {{ a }}',
  "awk -F, -v c={{ n }} '{ s += $c } END { print s }' {{ a }}",
  "sort -k {{ n }} {{ a }} | uniq -c | sort -rn | head",
  "sed -e 's/foo/bar/g' {{ a }} > out && diff -u {{ a }} out",
  "tar czf {{ a }} --exclude node_modules -- {{ l }}",
  "date -d {{ a }} +%s",
  "export AWS_PROFILE={{ a }}; aws sts get-caller-identity | jq -r .Account",
  "export KUBECONFIG={{ a }}; kubectl get nodes | awk 'NR > 1 { print $1 }'",
  "DEBUG={{ a }} timeout 60 npm test 2>&1 | tail -n 100",
  'args=(); [[ -n {{ a }} ]] && args+=(--label {{ a }}); gh issue list "${args[@]}"',
  'arr=({{ l }}); echo "${#arr[@]} files"; for ((i = 0; i < ${#arr[@]}; i++)); do echo "$i ${arr[$i]}"; done',
  "if command -v rg >/dev/null; then rg {{ a }}; else grep -rn {{ a }} .; fi",
  "( cd {{ a }} && npm ci && npm test )",
  `output=$(terraform validate -json 2>&1); errors=$(jq '.error_count' <<< "$output"); if [ "$errors" -gt 0 ]; then echo {{ a }}; fi`,
  `IFS=',' read -ra parts <<< {{ a }}; for p in "\${parts[@]}"; do echo "$p"; done`,
  `wait_for() { for _ in $(seq 1 "$2"); do nc -z localhost "$1" && return; sleep 1; done; return 1; }
wait_for {{ n }} 10 && echo {{ a }}`,
  `parse() { local key=$1 file=\${2:-.env}; grep "^$key=" "$file" | cut -d= -f2-; }
parse {{ a }}`,
  "bash scripts/lint.sh {{ l }}",
  "sudo -n systemctl status {{ a }} --no-pager",
  "sudo -u postgres psql -At -c 'select 1'; echo {{ a }}",
  "xargs -a list.txt -n1 -P4 curl -fsSO; echo {{ a }}",
  `printf '%s\\0' {{ l }} | xargs -0 -n1 sh -c 'wc -l -- "$1"' _`,
  `bash -c 'cd "$1" && git log -n "$2"' _ {{ a }} {{ n }}`,
  "PORT=$((8000 + RANDOM % 1000)); echo {{ a }} $PORT",
  `elapsed() { local s=$1 e; e=$(date +%s); echo $((e - s)); }
t=$(date +%s); npm run build -- {{ a }}; elapsed "$t"`,
  `retry() { local n=$1; shift; local i=0; until "$@"; do i=$((i + 1)); (( i >= n )) && return 1; sleep $((2 ** i)); done; }
retry 5 kubectl get {{# b }}-l {{ b }}{{/ b }} {{ l }}`,
  `usage() { echo "usage: $(basename "$0")"; }
while getopts n: o; do case $o in n) n=$OPTARG;; *) usage;; esac; done
echo {{ a }}`,
  `main() {
  local target=$1 depth=\${2:-2}
  find "$target" -maxdepth "$depth" -type d
  echo $((depth + 1))
}
main {{ a }} 3`,
  `git ls-files | xargs -I{} sh -c 'echo "$1"' _ {}; echo {{ a }}`,
  `echo '{"q": 1}' | jq --arg a {{ a }} '.q = $a' | curl -sS -d @- https://x.example.com | python3 -m json.tool`,
  `cat <<EOF | kubectl apply -f -
metadata:
  name: {{ a }}
EOF`,
  `cat > /tmp/q.sql <<EOF
select 1;
EOF
psql -f /tmp/q.sql -v x={{ a }}`,
  "ls | grep {{ a }} | wc -l",
  `find . -name {{ a }} -exec sh -c 'for f; do wc -l "$f"; done' _ {} +`,
  "sed -i.bak -e 's/a/b/' {{ a }} && rm -f {{ a }}.bak",
  "awk 'NR==FNR { seen[$1]; next } !($1 in seen)' {{ a }} {{ b }}",
  "perl -pe 's/foo/bar/g' < {{ a }}",
  `python3 -c 'import json,sys; print(json.load(sys.stdin)["x"])' < {{ a }}`,
  `node -e 'console.log(JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")).version)' {{ a }}`,
  "ruby -rjson -e 'puts JSON.parse(File.read(ARGV[0])).keys' {{ a }}",
  `docker run --rm alpine sh -c 'echo "$1"' _ {{ a }}`,
  "kubectl exec -n {{ a }} deploy/api -- sh -c 'ls -la /app'",
  "tmux capture-pane -p -t {{ a }}",
  "rsync -av --delete -- {{ a }}/ {{ b }}/",
  `echo "a | b" | awk '{ print $1 }' && echo {{ a }}`,
  `awk '{ print $1 " " $2 }' {{ a }} | sort`,
  `retry() { case $1 in [0-9]*) ;; *) return 2 ;; esac; local n=$1; shift; until "$@"; do n=$((n - 1)); (( n > 0 )) || return 1; done; }
retry 5 curl -fsS {{ a }}`,
  "timeout 5 curl -sf {{ a }}",
  "timeout {{ n }} grep -rn -- {{ a }} src",
  'timeout "$n" grep -rn -- {{ a }} src',
  "sudo ls -- {{ a }}",
  "sudo -u bob timeout -k 1 5 env X=1 grep -- {{ a }} f",
  "xargs -0 grep -l -- {{ a }} < list",
  "nice -n {{ n }} grep -r -- {{ a }} .",
  "flock /tmp/lock grep -- {{ a }} f",
  "uv run pytest -k {{ a }}",
  "npm install {{ a }}",
  "find . -name {{ a }} -exec grep -l x {} +",
  "git switch -c {{ a }}",
  "git config user.name {{ a }}",
  "env X={{ a }} grep x f",
];
