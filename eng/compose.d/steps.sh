# shellcheck shell=bash
# Sourced by eng/compose-test: what it asks of the containers, one function a step. A step fails where a `must` fails.

challenge=(-f docker-compose.yml)
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
  must compose up -d --no-build --wait --wait-timeout 90 || { ended='not without the `up` above'; return 1; }
  note+="ready after $(awk -v ns=$(($(date +%s%N) - from)) 'BEGIN { printf "%.1f", ns / 1e9 }') s "
}

# An engine in a machine of its own has other processes behind the same numbers; 0 is a container that does not run.
process_of() {
  local id pid
  id=$(id_of "$1") && pid=$(docker inspect -f '{{.State.Pid}}' "$id") || return
  ((pid > 1)) && in_engine grep -qs "$id" "/proc/$pid/cgroup" && in_engine kill -0 "$pid" && echo "$pid"
}
kill_process() { local pid; pid=$(process_of "$1") && in_engine kill -KILL "$pid"; }
restarted() { (($(state_of "$1" '{{.RestartCount}}') > $2)) && is_healthy "$1"; }

under_load() {  # seconds of it, and what to do after the first two
  load "$1"
  sleep 2
  shift
  must "$@"
  load_wait
  must test "$taken" -gt 0
}

killed_comes_back() {  # service
  local before
  if [[ ! $engine ]] && ! process_of "$1" >/dev/null; then
    skipped='the processes of this engine cannot be killed from here'
    return 1
  fi
  before=$(state_of "$1" '{{.RestartCount}}')
  under_load 8 kill_process "$1"
  must wait_for 60 restarted "$1" "$before"
  must wait_for 30 is_ready
}

step_images_start() {
  local image
  for image in payment-gateway payment-processor-simulator; do
    note+="$image $(docker image inspect -f '{{.Size}}' "$image:local" | awk '{ printf "%.1f", $1 / 1e6 }') MB "
  done
  must says_no payment-gateway:local healthcheck  # «not ready»
  must says_no -e Simulator__MaxPayments=0 payment-processor-simulator:local  # a wrong setting
}
says_no() {  # by itself; 127 is a library that is missing
  local status=0
  docker run --rm "$@" >>"$scratch/compose.log" 2>&1 || status=$?
  ((status == 1))
}
step_oom_seen() {
  docker run --rm --name "$COMPOSE_PROJECT_NAME-oom" --label "$project_label" --memory 16m --memory-swap 16m \
    --entrypoint sh "$(pinned postgres)" -c 'x=0123456789abcdef; while :; do x=$x$x; done' \
    >>"$scratch/compose.log" 2>&1 || true
  must wait_for 10 grep -qx "$COMPOSE_PROJECT_NAME-oom" "$scratch/oom"
}
step_up() { begin_ledgers; up; }
step_load() { load_here 5; must compare_ledgers; }
step_docker_kill() {
  under_load 8 docker kill "$(id_of api1)" >/dev/null
  must is_down api1  # for Docker a stop by hand, in every restart policy
  must compare_ledgers
  up
}
step_kill_process() { killed_comes_back api2 && must compare_ledgers; }
step_kill_nginx() { killed_comes_back nginx && must compare_ledgers; }
step_restart_postgres() {
  under_load 10 compose restart postgres
  must wait_for 60 is_healthy postgres
  must wait_for 30 is_ready
  must compare_ledgers
}
# The tables are empty afterwards, as promised, and say so; nothing is charged twice, and new ledgers agree.
step_kill_postgres_unlogged() {
  killed_comes_back postgres || return
  must grep -q 'books reset' <(in_engine curl --silent "$gateway/readyz")
  must wait_for 60 nothing_unsettled
  must gateway_rows >"$scratch/gateway.rows" && must processor_rows >"$scratch/processor.rows" || return
  must test -z "$(LC_ALL=C comm -23 "$scratch/gateway.rows" "$scratch/processor.rows")"
  must test -z "$(cut -d ' ' -f 2 "$scratch/processor.rows" | sort | uniq -d)"
  note+='ledger empty by design, then new ones '
  must ledger_forget || return
  load_here 3
  must compare_ledgers
}
nothing_unsettled() { [[ $(sql 'SELECT count(*) FROM payments p WHERE NOT EXISTS (
  SELECT FROM settlements s WHERE s.correlation_id = p.correlation_id)') == 0 ]]; }
step_down_up() {  # the simulators forget, so the load comes after
  processors_keep
  must compose down
  up || return
  load_here 3
  must compare_ledgers
}
step_kill_postgres_durable() { killed_comes_back postgres && must compare_ledgers; }
step_power_cut() {
  if [[ ! $engine ]]; then skipped='not with an engine that others use'; return; fi
  processors_keep
  engine_kill
  engine_start
  watch_for_oom
  must wait_for 60 is_ready
  for service in api1 api2 postgres nginx; do must wait_for 60 is_healthy "$service"; done
  load_here 3
  must compare_ledgers
}
step_challenge_up() {
  local name port=8001 fee=0.05
  if docker network inspect payment-processor >/dev/null 2>&1; then
    ended='there is a network payment-processor that is not ours' skipped=$ended
    return
  fi
  ended='not without the processors above'
  must docker network create --label "$group" payment-processor >/dev/null || return
  for name in default fallback; do
    must docker run -d --label "$group" --name "$COMPOSE_PROJECT_NAME-$name" --network payment-processor \
      --network-alias "payment-processor-$name" --user 1654:1654 -p "$port:8080" \
      -e Simulator__FeePerTransaction=$fee payment-processor-simulator:local >/dev/null || return
    port=8002 fee=0.15
  done
  ended=''
  begin_ledgers
  up || return
  load_here 3
  must compare_ledgers
}
step_down_under_load() {
  under_load 6 compose down
  up || return
  must compare_ledgers
}
challenge_end() {  # only what this run made
  compose down -v || true
  docker ps -aq --filter label="$group" | xargs -r docker rm -f >/dev/null || true
  docker network ls -q --filter label="$group" | xargs -r docker network rm >/dev/null || true
}
# Written as it happens: a container that restarts counts anew, and the engine itself forgets.
watch_for_oom() {
  docker events --filter event=oom --filter label="$project_label" --format '{{.Actor.Attributes.name}}' \
    >>"$scratch/oom" 2>/dev/null </dev/null &
  watch_pid=$!
}
killed_for_memory() {  # each time, but for the one that had to be
  grep -vx "$COMPOSE_PROJECT_NAME-oom" "$scratch/oom" | paste -sd ' ' || true
}

all_steps() {
  step 'both images start' step_images_start
  step 'a kill for memory is seen' step_oom_seen
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
