# shellcheck shell=bash disable=SC2154
# The parts of a system: how each is started, when it is ready, how it is stopped. Comes with lib.sh.

start_simulator() {  # default|fallback, port, fee
  [[ -x $SIMULATOR_BIN ]] || die "$SIMULATOR_BIN is missing: make publish"
  refuse_taken_port "the $1 processor" "$2"
  launch "$1" env -C "$(dirname "$SIMULATOR_BIN")" ASPNETCORE_URLS="http://127.0.0.1:$2" \
    Simulator__FeePerTransaction="$3" "$SIMULATOR_BIN"
}

start_postgres() {
  [[ -x $PG_BIN/postgres ]] || die 'PostgreSQL is missing: eng/setup'
  local run=("${as_postgres[@]}" env -C / -u PGDATA -u PGPORT -u PGHOST) sync=() old
  if [[ ! -f $data_dir/PG_VERSION ]]; then
    mkdir -p -m 700 "$data_dir"
    ((EUID != 0)) || chown postgres: "$data_dir"
    [[ $PROFILE == durable ]] || sync=(--no-sync)
    "${run[@]}" "$PG_BIN/initdb" -D "$data_dir" -A trust -U postgres -E UTF8 --locale=C "${sync[@]}" \
      >>"$RUN_DIR/logs/postgres.log" 2>&1 || { report postgres 'could not make its data directory'; exit 1; }
  fi
  # Copies, because user postgres may not be able to enter the clone; the profile is whether durable.conf is there.
  install -m 644 "$root/postgres/postgresql.conf" "$data_dir/postgresql.conf"
  rm -f "$data_dir/durable.conf"
  [[ $PROFILE != durable ]] || install -m 644 "$root/postgres/durable.conf" "$data_dir/durable.conf"
  # A killed server that nobody has reaped yet still counts as running for the lock file.
  if [[ -f $data_dir/postmaster.pid ]]; then
    read -r old <"$data_dir/postmaster.pid"
    while [[ -e /proc/$old ]] && ! born "$old" >/dev/null; do sleep 0.05; done
  fi
  # The socket is for its owner and root only: within it everyone is trusted.
  # shellcheck disable=SC2086
  launch postgres "${run[@]}" "$PG_BIN/postgres" -D "$data_dir" -c listen_addresses= -c port=5432 \
    -c unix_socket_directories="$short_dir/postgres" -c unix_socket_permissions=0700 ${PG_ARGS:-}
  await postgres sql 'select 1'
  [[ $(sql "select 1 from pg_roles where rolname = 'gateway'") ]] || sql 'create role gateway login' >/dev/null
  [[ $(sql "select 1 from pg_database where datname = 'gateway'") ]] \
    || sql 'create database gateway owner gateway' >/dev/null
}

sql() {
  "${as_postgres[@]}" env -C / "$PG_BIN/psql" -XAtq -h "$short_dir/postgres" -p 5432 -U postgres -d postgres -c "$1"
}

start_instance() {  # api1|api2
  [[ -x $GATEWAY_BIN ]] || die "$GATEWAY_BIN is missing: make publish"
  # PROCESSOR_COUNT: as in a container, where the runtime would count a third of a core as one.
  # GCGen0MaxBudget, hexadecimal, 4 MiB: else the young generation takes 4/5 of the processor's cache, whoever shares it.
  # RELAY_…: tests put relays of theirs between an instance and its database, and before the processors.
  # GCHeapHardLimit: where memory is not limited, the heap at least is, as the runtime does by itself in a container.
  launch "$1" env -C "$(dirname "$GATEWAY_BIN")" ${HEAP_LIMIT:+DOTNET_GCHeapHardLimit="$HEAP_LIMIT"} \
    ASPNETCORE_URLS="http://unix:$short_dir/sockets/$1.sock" \
    ConnectionStrings__Ledger="$(connection_string "${RELAY_DIR:+$RELAY_DIR/$1}")" \
    Gateway__Instance__Name="$1" \
    Gateway__Processors__Default__BaseUrl="${RELAY_DEFAULT_URL:-${DEFAULT_URL:-http://127.0.0.1:$DEFAULT_PORT}}" \
    Gateway__Processors__Fallback__BaseUrl="${RELAY_FALLBACK_URL:-${FALLBACK_URL:-http://127.0.0.1:$FALLBACK_PORT}}" \
    Gateway__Storage__Profile="${PROFILE^}" \
    Gateway__Intake__Acknowledge="$ACKNOWLEDGE" \
    DOTNET_PROCESSOR_COUNT="${DOTNET_PROCESSOR_COUNT:-2}" \
    DOTNET_GCGen0MaxBudget="${DOTNET_GCGen0MaxBudget:-400000}" \
    "$GATEWAY_BIN"
}

start_nginx() {
  command -v nginx >/dev/null || die 'nginx is missing: eng/setup'
  refuse_taken_port nginx "$PORT"
  mkdir -p "$RUN_DIR/nginx"
  # The port is all that differs between systems side by side.
  sed "s/listen 9999/listen $PORT/" "$root/nginx/nginx.conf" >"$RUN_DIR/nginx/nginx.conf"
  # The working directory is what `unix:sockets/…` in the file hangs on; in compose it is /.
  launch nginx env -C "$short_dir" nginx -p "$RUN_DIR/nginx/" -c nginx.conf -e stderr -g 'daemon off;'
}

start_part() {
  case $1 in
    default) start_simulator default "$DEFAULT_PORT" 0.05 ;;
    fallback) start_simulator fallback "$FALLBACK_PORT" 0.15 ;;
    postgres) start_postgres ;;
    api1 | api2) start_instance "$1" ;;
    nginx) start_nginx ;;
    *) die "no such part: $1" ;;
  esac
}

await_part() {
  case $1 in
    default) await default listens "$DEFAULT_PORT" ;;
    fallback) await fallback listens "$FALLBACK_PORT" ;;
    postgres) ;;
    api1 | api2) await "$1" answers --unix-socket "$short_dir/sockets/$1.sock" http://gateway/readyz ;;
    nginx) await nginx answers "http://127.0.0.1:$PORT/readyz" ;;
  esac
}

start_parts() {
  local part
  for part in "$@"; do if [[ $part != nginx ]]; then start_part "$part"; fi; done
  for part in "$@"; do if [[ $part != nginx ]]; then await_part "$part"; fi; done
  # The door opens last.
  if [[ " $* " == *' nginx '* ]]; then
    start_nginx
    await_part nginx
  fi
  write_env
}

start_all() {
  # Before anything is started: a port that is taken should not cost a start and a stop.
  refuse_taken_port nginx "$PORT"
  [[ ${DEFAULT_URL:-} ]] || refuse_taken_port 'the default processor' "$DEFAULT_PORT"
  [[ ${FALLBACK_URL:-} ]] || refuse_taken_port 'the fallback processor' "$FALLBACK_PORT"
  [[ ! ${TOKEN:-} ]] || export Gateway__Admin__Token=$TOKEN
  start_parts "${parts[@]}"
}

stop_parts() {  # asks all of them, waits for each, insists when its time is up
  local part signal pid limit asked=' '
  for part in "$@"; do
    case $part in nginx) signal=QUIT ;; postgres) signal=INT ;; *) signal=TERM ;; esac
    pid=$(pid_of "$part") || continue
    kill -"$signal" "$pid" 2>/dev/null || true
    asked+="$part "
  done
  for part in "$@"; do
    case $part in api* | postgres) limit=$((SECONDS + 15)) ;; *) limit=$((SECONDS + 8)) ;; esac
    while pid=$(pid_of "$part"); do
      if ((SECONDS >= limit)); then
        say "$part did not stop in time: killed" >&2
        kill -KILL "$pid" 2>/dev/null || true
        limit=$((SECONDS + 15))
      fi
      sleep 0.02
    done
    [[ $part != nginx ]] || kill_orphaned_workers
    rm -f "$RUN_DIR/pids/$part"
    [[ $asked != *" $part "* ]] || say "stopped $part"
  done
}

# A killed master leaves its worker behind, and the worker the port.
kill_orphaned_workers() {
  local master stat fields
  { read -r master _ <"$RUN_DIR/pids/nginx"; } 2>/dev/null || return 0
  for stat in /proc/[0-9]*/stat; do
    { read -r stat <"$stat"; } 2>/dev/null || continue
    read -r -a fields <<<"${stat##*) }"
    if [[ ${fields[2]:-} == "$master" && $stat == *' (nginx) '* ]]; then kill -KILL "${stat%% *}" 2>/dev/null || true; fi
  done
}

stop_all() {
  stop_parts nginx
  stop_parts api1 api2
  stop_parts default fallback
  stop_parts postgres
}
