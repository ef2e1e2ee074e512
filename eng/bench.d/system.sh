# shellcheck shell=bash disable=SC2154
# Sourced by eng/bench: one side after the other, each a system of its own, with its limits, CPU and memory.

RUN_DIR=$out/run
export RUN_DIR
tool=$artifacts/publish/PaymentGateway.Benchmarks/release_linux-x64/PaymentGateway.Benchmarks
stub_bin=$artifacts/publish/PaymentGateway.Stub/release_linux-x64/PaymentGateway.Stub
measured_parts=(nginx api1 api2 postgres)
limits_state='' nginx_alone='' running='' watcher='' rate_pid=''
declare -A pids=() cpu_file=()

check_tools() {
  local name
  for name in wrk bc curl; do
    command -v "$name" >/dev/null || die "$name is missing (Debian: apt-get install $name)"
  done
  [[ ${NO_PUBLISH:-} == 1 ]] || { "$root/eng/setup" && "$root/eng/publish" && publish_tool && publish_stub; }
  [[ -x $tool ]] || publish_tool
  [[ -x $stub_bin ]] || publish_stub
  export NO_PUBLISH=1
}

publish_into() {  # project, more arguments
  say "publishing $1"
  mkdir -p "$artifacts"
  (cd "$root" && dotnet publish "tests/$1" -c Release -r linux-x64 -tl:off -clp:NoSummary "${@:2}") \
    >"$artifacts/publish-$1.log" 2>&1 || die "publishing $1 failed; log: $artifacts/publish-$1.log"
}

# With the runtime inside: bytes per payment are to be those of the framework, where perhaps only a newer one is installed.
publish_tool() { publish_into PaymentGateway.Benchmarks --self-contained; }
publish_stub() { publish_into PaymentGateway.Stub; }

free_port() {
  local port
  while port=$((20000 + RANDOM % 10000)); listens "$port"; do :; done
  printf '%s' "$port"
}

own_ports() {
  export PORT=${PORT:-$(free_port)} DEFAULT_PORT=${DEFAULT_PORT:-$(free_port)}
  export FALLBACK_PORT=${FALLBACK_PORT:-$(free_port)}
  url=http://127.0.0.1:$PORT
}

system() {
  "$root/eng/system" "$@" >>"$out/system.log" 2>&1 || { tail -n 5 "$out/system.log" >&2; die "eng/system $1 failed"; }
}

value_of() { sed -n "s/^$1=//p" "$RUN_DIR/system.env"; }

gateway_sql() {
  "$(value_of postgres_bin)/psql" -XAtq -v ON_ERROR_STOP=1 -h "$(value_of postgres_socket_dir)" -U gateway \
    -d gateway "$@"
}

start_side() {  # nginx-alone | stub | received | stored | stored-durable | stored-plain; leaves it ready and limited
  running=$1
  case $1 in
    nginx-alone) start_nginx_alone ;;
    stub) GATEWAY_BIN=$stub_bin system start api1 api2 nginx ;;
    received) ACKNOWLEDGE=Received system up ;;
    stored) system up ;;
    stored-durable) PROFILE=durable system up ;;
    stored-plain) MULTIPLEXING=false system up ;;
    *) die "no such side: $1" ;;
  esac
  look_at_parts
}

start_nginx_alone() {
  mkdir -p "$RUN_DIR"
  # The same door, with the answer in the place of the gateway.
  sed -e "s/listen 9999/listen $PORT/" -e 's|proxy_pass http://gateway;|return 202;|' "$root/nginx/nginx.conf" \
    >"$RUN_DIR/nginx.conf"
  grep -q 'return 202;' "$RUN_DIR/nginx.conf" || die 'nginx/nginx.conf has no proxy_pass to replace'
  (cd "$RUN_DIR" && exec nginx -p "$RUN_DIR/" -c nginx.conf -e stderr -g 'daemon off;') >>"$out/system.log" 2>&1 &
  nginx_alone=$!
  until listens "$PORT"; do kill -0 "$nginx_alone" || die 'nginx does not start'; sleep 0.05; done
  printf 'nginx_pid=%s\n' "$nginx_alone" >"$RUN_DIR/system.env"
}

look_at_parts() {  # the pids of what runs, and its limits when they are wanted
  local part pair
  pids=() cpu_file=()
  for part in "${measured_parts[@]}"; do pids[$part]=$(value_of "${part}_pid"); done
  [[ ${LIMITS:-} == 1 ]] || return 0
  limits_state=$out/limits
  "$root/eng/limits" up "$RUN_DIR/system.env" "$limits_state" >>"$out/system.log"
  for pair in $(sed -n 's/^cpu_files=//p' "$limits_state" | tr , ' '); do cpu_file[${pair%%=*}]=${pair#*=}; done
}

stop_side() {
  [[ ! $rate_pid ]] || { kill -TERM "$rate_pid" 2>/dev/null || true; wait "$rate_pid" || true; rate_pid=''; }
  [[ ! $watcher ]] || { kill "$watcher" 2>/dev/null || true; wait "$watcher" 2>/dev/null || true; watcher=''; }
  if [[ $nginx_alone ]]; then
    kill -QUIT "$nginx_alone" 2>/dev/null || true
    wait "$nginx_alone" 2>/dev/null || true
    nginx_alone=''
  elif [[ $running ]]; then
    "$root/eng/system" down >>"$out/system.log" 2>&1 || true
  fi
  [[ ! $limits_state ]] || "$root/eng/limits" down "$limits_state"
  limits_state='' running=''
  rm -rf "$RUN_DIR"
}

clean_up() {
  local status=$?
  trap '' INT TERM
  set +e
  stop_side
  exit "$status"
}

# --- CPU, milliseconds: by the cgroups where there are limits, else by the processes, ended children included

cpu_ms() {  # part
  local pid=${pids[$1]:-} file=${cpu_file[$1]:-}
  case $file in
    '') if [[ $pid ]]; then printf '%s' $(($(ticks_of "$pid") * 10)); else printf 0; fi ;;
    *cpu.stat) awk '/^usage_usec/ { printf "%d", $2 / 1000 }' "$file" ;;
    *) printf '%s' $(($(<"$file") / 1000000)) ;;
  esac
}

ticks_of() {
  local child total stat fields
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || { printf 0; return; }
  read -r -a fields <<<"${stat##*) }"
  total=$((fields[11] + fields[12] + fields[13] + fields[14]))
  for child in $(children_of "$1"); do total=$((total + $(ticks_of "$child"))); done
  printf '%s' "$total"
}

children_of() { cat "/proc/$1/task/"*/children 2>/dev/null || true; }

take_cpu() {
  local part
  cpu_before=()
  for part in "${measured_parts[@]}"; do cpu_before+=("$(cpu_ms "$part")"); done
}

cpu_per_1000() {  # payments; prints whole, nginx, instances, PostgreSQL in seconds per 1,000 since take_cpu
  local used=() i
  for i in 0 1 2 3; do used+=($(($(cpu_ms "${measured_parts[i]}") - cpu_before[i]))); done
  awk -v n="$1" -v a="${used[0]}" -v b="$((used[1] + used[2]))" -v c="${used[3]}" \
    'BEGIN { if (n < 1) n = 1; printf "%.3f %.3f %.3f %.3f", (a + b + c) / n, a / n, b / n, c / n }'
}

# --- memory: PSS, so that parts may be added up

pss_kib() {  # pid, with its children: nginx's worker, PostgreSQL's backends
  local files=("/proc/$1/smaps_rollup") children=() pid
  { read -r -a children <"/proc/$1/task/$1/children"; } 2>/dev/null || true
  for pid in "${children[@]}"; do files+=("/proc/$pid/smaps_rollup"); done
  { cat "${files[@]}" 2>/dev/null || true; } | awk '/^Pss:/ { sum += $2 } END { print sum + 0 }'
}

rss_kib() { awk '/^VmRSS:/ { print $2 }' "/proc/$1/status" 2>/dev/null || true; }

memory_now() {  # MiB: whole PSS, the larger instance's PSS, its resident memory
  local part sum=0 kib largest=0 resident=0
  for part in "${measured_parts[@]}"; do
    [[ ${pids[$part]:-} ]] || continue
    kib=$(pss_kib "${pids[$part]}")
    sum=$((sum + kib))
    [[ $part != api* ]] || {
      ((kib <= largest)) || largest=$kib
      kib=$(rss_kib "${pids[$part]}")
      ((${kib:-0} <= resident)) || resident=$kib
    }
  done
  printf '%d %d %d\n' $((sum / 1024)) $((largest / 1024)) $((resident / 1024))
}

watch_memory() {  # in the background until stop_watching
  : >"$out/memory.txt"
  (while :; do memory_now; sleep 2; done) >"$out/memory.txt" 2>/dev/null &
  watcher=$!
}

stop_watching() {  # prints the peaks: whole PSS, instance's PSS, instance's resident, MiB
  memory_now >>"$out/memory.txt"
  kill "$watcher" 2>/dev/null || true
  awk '{ for (i = 1; i <= 3; i++) if ($i > most[i]) most[i] = $i } END { print most[1], most[2], most[3] }' \
    "$out/memory.txt"
}

# --- is the machine ours

busy_percent() {
  local user nice system idle wait rest before after
  read -r _ user nice system idle wait rest </proc/stat
  before=$((idle + wait)) after=$((user + nice + system + idle + wait))
  sleep 1
  read -r _ user nice system idle wait rest </proc/stat
  after=$((user + nice + system + idle + wait - after))
  printf '%s' $((100 - 100 * (idle + wait - before) / (after > 0 ? after : 1)))
}

await_idle() {  # what is about to begin; waits up to 20 s for an idle machine, then says so or refuses
  local busy limit=$((SECONDS + 20))
  while busy=$(busy_percent); ((busy > 10)); do
    ((SECONDS >= limit)) || continue
    [[ ${IDLE:-say} != refuse ]] || die "the machine is $busy % busy with something else before '$1'"
    say "the machine is $busy % busy before '$1'" | tee -a "$out/busy.txt" >&2
    return
  done
}
