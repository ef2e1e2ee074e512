# shellcheck shell=bash
# Sourced by eng/compose-test: what it asks of the containers, one function a step. A step fails where a `must` fails.

plain=() all=() challenge=(-f docker-compose.yml)
durable=(-f docker-compose.yml -f docker-compose.override.yml -f docker-compose.durable.yml)

compose() { docker compose "${files[@]}" "$@" >>"$scratch/compose.log" 2>&1; }
must() { "$@" || { faults+="$*; "; return 1; }; }
id_of() { docker compose "${files[@]}" ps -aq "$1"; }
state_of() { docker inspect -f "$2" "$(id_of "$1")"; }
is_healthy() { [[ $(state_of "$1" '{{.State.Health.Status}}') == healthy ]]; }
is_ready() { in_engine curl --silent --fail --max-time 3 -o /dev/null "$gateway/readyz"; }
is_down() { [[ $(state_of "$1" '{{.State.Status}}') == exited ]]; }
begin_ledgers() { : >"$acknowledged"; : >"$scratch/kept"; }

up() {  # --wait: 0 only when all are healthy, or run where they have no health check
  local from
  from=$(date +%s%N)
  must compose up -d --no-build --wait --wait-timeout 90 || return
  note+="ready after $(awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { printf "%.1f", ns / 1e9 }') s "
}

kill_process() { in_engine kill -KILL "$(state_of "$1" '{{.State.Pid}}')"; }
restarted() { (($(state_of "$1" '{{.RestartCount}}') > $2)) && is_healthy "$1"; }

under_load() {  # seconds of it, and what to do after the first two
  load "$1"
  sleep 2
  shift
  must "$@"
  load_wait
}

killed_comes_back() {  # service
  local before
  before=$(state_of "$1" '{{.RestartCount}}')
  under_load 8 kill_process "$1"
  must wait_for 60 restarted "$1" "$before"
  must wait_for 30 is_ready
}

step_images_start() {
  local image status
  for image in payment-gateway payment-processor-simulator; do
    note+="$image $(docker image inspect -f '{{.Size}}' "$image:local" | awk '{ printf "%.1f", $1 / 1e6 }') MB "
  done
  docker run --rm payment-gateway:local healthcheck >>"$scratch/compose.log" 2>&1 && status=0 || status=$?
  must test "$status" = 1  # «not ready»; 127 is a library that is missing
}
step_up() { begin_ledgers; up; }
step_load() { load_here 5; must compare_ledgers; }
step_docker_kill() {
  under_load 8 docker kill "$(id_of api1)" >/dev/null
  must is_down api1  # for Docker a stop by hand, in every restart policy
  must compare_ledgers
  up
}
step_kill_process() { killed_comes_back api2; must compare_ledgers; }
step_kill_nginx() { killed_comes_back nginx; must compare_ledgers; }
step_restart_postgres() {
  under_load 10 compose restart postgres
  must wait_for 60 is_healthy postgres
  must wait_for 30 is_ready
  must compare_ledgers
}
# The tables are empty afterwards, as promised, and say so; nothing is charged twice, and new ledgers agree.
step_kill_postgres_unlogged() {
  killed_comes_back postgres
  must grep -q 'books reset' <(in_engine curl --silent "$gateway/readyz")
  wait_for 60 nothing_unsettled
  gateway_rows >"$scratch/gateway.rows"; processor_rows >"$scratch/processor.rows"
  must test -z "$(LC_ALL=C comm -23 "$scratch/gateway.rows" "$scratch/processor.rows")"
  must test -z "$(cut -d ' ' -f 2 "$scratch/processor.rows" | sort | uniq -d)"
  note+='ledger empty by design, then new ones '
  must ledger_forget
  load_here 3
  must compare_ledgers
}
nothing_unsettled() { [[ $(sql 'SELECT count(*) FROM payments p WHERE NOT EXISTS (
  SELECT FROM settlements s WHERE s.correlation_id = p.correlation_id)') == 0 ]]; }
step_down_up() {  # the simulators forget, so the load comes after
  processors_keep
  must compose down
  up
  load_here 3
  must compare_ledgers
}
step_kill_postgres_durable() { killed_comes_back postgres; must compare_ledgers; }
step_power_cut() {
  if [[ ! $engine ]]; then skipped='not with an engine that others use'; return; fi
  processors_keep
  engine_kill
  engine_start
  must wait_for 60 is_ready
  for service in api1 api2 postgres nginx; do must wait_for 60 is_healthy "$service"; done
  load_here 3
  must compare_ledgers
}
step_challenge_up() {
  local name fee=0.05
  docker network create payment-processor >/dev/null
  for name in default fallback; do
    docker run -d --name "payment-processor-$name" --network payment-processor --user 1654:1654 \
      -p "$([[ $name == default ]] && echo 8001 || echo 8002):8080" -e Simulator__FeePerTransaction=$fee \
      payment-processor-simulator:local >/dev/null
    fee=0.15
  done
  begin_ledgers
  up
  load_here 3
  must compare_ledgers
}
step_down_under_load() {
  under_load 6 compose down
  up
  must compare_ledgers
}
challenge_end() {
  compose down -v || true
  docker rm -f payment-processor-default payment-processor-fallback >/dev/null 2>&1 || true
  docker network rm payment-processor >/dev/null 2>&1 || true
}
# Counted by the kernel for each container that runs now.
killed_for_memory() {
  local total=0 id file
  for id in $(docker ps -q --no-trunc); do
    file=$(find /sys/fs/cgroup -path "*memory*$id*/memory.oom_control" -o -path "*$id*/memory.events" | head -n 1)
    total=$((total + $(awk '$1 == "oom_kill" { n = $2 } END { print n + 0 }' "${file:-/dev/null}")))
  done
  echo "$total"
}

all_steps() {
  step 'both images start' step_images_start
  files=()
  step '`docker compose up -d --wait`, with simulators' step_up
  step '2,000 payments' step_load
  step '`docker kill` of an instance under load, `up` again' step_docker_kill
  step '`kill -9` of an instance'\''s process under load' step_kill_process
  step '`kill -9` of nginx under load' step_kill_nginx
  step 'restart of PostgreSQL under load' step_restart_postgres
  step '`down`, `up` with the data' step_down_up
  step '`kill -9` of PostgreSQL under load, unlogged' step_kill_postgres_unlogged
  compose down -v || true
  files=("${durable[@]}")
  step 'durable profile, `up --wait`' step_up
  step 'restart of PostgreSQL under load, durable' step_restart_postgres
  step '`kill -9` of PostgreSQL under load, durable' step_kill_postgres_durable
  step 'the whole machine off and on, durable' step_power_cut
  step '`down`, `up` with the data, durable' step_down_up
  compose down -v || true
  files=("${challenge[@]}")
  step 'the challenge'\''s file alone, external network' step_challenge_up
  step '`down` under load, `up` with the data' step_down_under_load
  challenge_end
}
