# shellcheck shell=bash
# Sourced by the other scripts: how each part of a system is started, watched and stopped.
# A system lives in one RUN_DIR; several run side by side when RUN_DIR and the three ports differ.
# The parts themselves are in parts.sh, which this file brings along.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
artifacts=$root/artifacts${FRAMEWORK:+/$FRAMEWORK}  # as Directory.Build.props says
RUN_DIR=$(realpath -m "${RUN_DIR:-$root/.run}")
PATH=$PATH:/usr/sbin:/sbin  # nginx and setpriv, which a plain user's path lacks
settings=(PORT DEFAULT_PORT FALLBACK_PORT DEFAULT_URL FALLBACK_URL PROFILE ACKNOWLEDGE MULTIPLEXING POOL TOKEN
  GATEWAY_BIN SIMULATOR_BIN PG_BIN PG_ARGS FRESH READY_SECONDS RELAY_DIR RELAY_DEFAULT_URL RELAY_FALLBACK_URL)
short_dir='' data_dir='' parts=()
# shellcheck disable=SC1091
source "$root/eng/parts.sh"

say() { printf '%s\n' "$*"; }
die() { printf 'payment-gateway: %s\n' "$*" >&2; exit 1; }

# LIMITS is 1 or nothing, so that whoever only asks whether it is set asks the right thing.
case ${LIMITS:-} in
  '' | 1) ;;
  0) LIMITS='' ;;
  *) die "LIMITS is '$LIMITS'; it may be 1, or 0 as when unset" ;;
esac

# What is built: the variable FRAMEWORK, else the one default.
framework() {
  printf '%s' "${FRAMEWORK:-$(sed -nE 's|.*<TargetFramework>(.*)</.*|\1|p' "$root/Directory.Build.props")}"
}

# The commit whose binaries are measured, for the head of a report; nothing outside a clone.
commit() {
  local hash
  hash=$(git -C "$root" rev-parse --short HEAD 2>/dev/null) || return 0
  # A figure from changed sources is not the commit's.
  git -C "$root" diff --quiet HEAD -- . ':!docs' ':!*.md' 2>/dev/null || hash+='+'
  printf '%s' "$hash"
}

# What is left unset, after the caller and the saved settings of a system that exists.
apply_defaults() {
  local publish=$artifacts/publish
  PORT=${PORT:-9999} DEFAULT_PORT=${DEFAULT_PORT:-8001} FALLBACK_PORT=${FALLBACK_PORT:-8002}
  PROFILE=${PROFILE:-unlogged} ACKNOWLEDGE=${ACKNOWLEDGE:-Stored} MULTIPLEXING=${MULTIPLEXING:-true} POOL=${POOL:-10}
  GATEWAY_BIN=${GATEWAY_BIN:-$publish/PaymentGateway/release_linux-x64/PaymentGateway}
  SIMULATOR_BIN=${SIMULATOR_BIN:-$publish/ProcessorSimulator/release_linux-x64/ProcessorSimulator}
  PG_BIN=${PG_BIN:-$(newest_postgres)} READY_SECONDS=${READY_SECONDS:-30}
  # Simulators forget everything when they stop, so the books start empty with them; outside processors remember.
  [[ ${FRESH:-} ]] || { [[ ${DEFAULT_URL:-}${FALLBACK_URL:-} ]] && FRESH=0 || FRESH=1; }
  [[ $PROFILE == unlogged || $PROFILE == durable ]] || die "PROFILE is '$PROFILE'; it may be unlogged or durable"
  parts=(postgres api1 api2 nginx)
  [[ ${FALLBACK_URL:-} ]] || parts=(fallback "${parts[@]}")
  [[ ${DEFAULT_URL:-} ]] || parts=(default "${parts[@]}")
}

newest_postgres() { find /usr/lib/postgresql -path '*/bin/postgres' -printf '%h\n' 2>/dev/null | sort -V | tail -n 1 || true; }

# Lines that set only what the caller did not, so `FRESH=0 eng/system start api1` still has the last word.
save_settings() {
  local name gateway=()
  # Configuration does not look at the case of a name, so GATEWAY__… is a setting of the gateway as well.
  mapfile -t gateway < <(compgen -e | grep -i '^gateway__')
  {
    printf 'short_dir=%q data_dir=%q\n' "$short_dir" "$data_dir"
    for name in "${settings[@]}" "${gateway[@]}"; do
      [[ ! -v $name ]] || printf '[[ -v %s ]] || export %s=%q\n' "$name" "$name" "${!name}"
    done
  } >"$RUN_DIR/settings"
  chmod 600 "$RUN_DIR/settings"  # the token is in it
}

# shellcheck disable=SC1091
load_settings() { [[ ! -f $RUN_DIR/settings ]] || source "$RUN_DIR/settings"; }

# --- processes: a pid is believed only together with its start time, so a reused pid is never killed

born() {
  local stat fields
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  read -r -a fields <<<"${stat##*) }"
  # A process whose first thread is dead keeps its files, and their locks, until its last thread is.
  [[ ${fields[0]} != [ZX] || ${fields[17]} -gt 1 ]] && printf '%s' "${fields[19]}"
}

pid_of() {
  local pid born
  { read -r pid born <"$RUN_DIR/pids/$1"; } 2>/dev/null && [[ $born && $(born "$pid") == "$born" ]] \
    && printf '%s' "$pid"
}

remember() { printf '%s %s\n' "$2" "$(born "$2")" >"$RUN_DIR/pids/$1"; }

# A session of its own for each: the terminal's Ctrl-C must reach only us, who stop the parts in order.
launch() {
  local part=$1
  shift
  setsid -- "$@" </dev/null >>"$RUN_DIR/logs/$part.log" 2>&1 9>&- &
  remember "$part" $!
}

report() {  # part, what happened to it
  printf 'payment-gateway: %s %s; log: %s\n' "$1" "$2" "$RUN_DIR/logs/$1.log" >&2
  tail -n 5 "$RUN_DIR/logs/$1.log" 2>/dev/null | sed 's/^/  | /' >&2
}

await() {  # part, command that succeeds when the part is ready
  local part=$1 deadline=$((SECONDS + READY_SECONDS))
  shift
  until "$@" >/dev/null 2>&1; do
    pid_of "$part" >/dev/null || { report "$part" 'ended while it started'; exit 1; }
    ((SECONDS < deadline)) || { report "$part" "was not ready within $READY_SECONDS s"; exit 1; }
    sleep 0.02
  done
}

listens() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
answers() { curl -fsS -m 2 -o /dev/null "$@"; }

# --- the run directory

refuse_if_running() {
  local part
  # A `make run` that was killed left its parts behind; begin stops them.
  [[ ! -f $RUN_DIR/pids/run ]] || pid_of run >/dev/null || return 0
  for part in run nginx api1 api2 default fallback postgres; do
    ! pid_of "$part" >/dev/null || die "it runs already in $RUN_DIR ($part); 'make down' stops it"
  done
}

refuse_taken_port() { ! listens "$2" || die "$1 cannot start: port $2 is in use"; }

# The server refuses to run as root.
as_postgres=()
if ((EUID == 0)); then as_postgres=(setpriv --reuid=postgres --regid=postgres --init-groups --); fi

begin() {  # a clean run directory, whatever an earlier run left in it
  refuse_if_running
  command -v curl >/dev/null || die 'curl is missing: eng/setup'
  ((EUID != 0)) || id postgres >/dev/null 2>&1 || die 'PostgreSQL refuses root, and there is no user postgres for it'
  mkdir -p "$RUN_DIR"
  # Held to the end of this script: two starts at once would take each other's parts for leavings.
  exec 9>"$RUN_DIR/lock"
  flock -n 9 || die "another start is at work in $RUN_DIR"
  trap stop_and_exit EXIT  # from here on nothing may stay; who leaves a system running takes the trap away
  (load_settings && remove_leavings >/dev/null)
  rm -rf "$RUN_DIR/logs"
  mkdir -p "$RUN_DIR/pids" "$RUN_DIR/logs"
  # Sockets: a path may have 107 bytes, and nginx's worker and user postgres must be able to enter; a clone promises
  # neither, and TMPDIR no more than it.
  short_dir=$(mktemp -d /tmp/payment-gateway.XXXXXX)
  mkdir "$short_dir/sockets" "$short_dir/postgres"
  chmod 755 "$short_dir" "$short_dir/sockets"
  ((EUID != 0)) || chown postgres: "$short_dir/postgres"
  chmod 700 "$short_dir/postgres"
  # Data: under the clone when user postgres can get there, else beside the sockets and gone with them.
  data_dir=$RUN_DIR/postgres-$PROFILE
  if ! "${as_postgres[@]}" test -x "$RUN_DIR"; then
    data_dir=$short_dir/data
    [[ $FRESH == 1 ]] || say "user postgres cannot enter $RUN_DIR: the books will end with this run"
  fi
  [[ $FRESH != 1 ]] || rm -rf "$data_dir"
  save_settings
}

remove_leavings() {
  stop_all  # also a worker whose master was killed: it still holds the port
  if [[ $short_dir == /tmp/payment-gateway.* ]]; then rm -rf "$short_dir"; fi
  rm -rf "$RUN_DIR/pids" "$RUN_DIR/nginx" "$RUN_DIR/settings" "$RUN_DIR/system.env"
}

# For programs and tests: plain key=value lines, values to the end of the line.
write_env() {
  local part
  {
    say "url=http://127.0.0.1:$PORT"
    say "default_url=${DEFAULT_URL:-http://127.0.0.1:$DEFAULT_PORT}"
    say "fallback_url=${FALLBACK_URL:-http://127.0.0.1:$FALLBACK_PORT}"
    say "api1_socket=$short_dir/sockets/api1.sock"
    say "api2_socket=$short_dir/sockets/api2.sock"
    say "connection_string=$(connection_string)"
    say "postgres_socket_dir=$short_dir/postgres"
    say "postgres_bin=$PG_BIN"
    say "data_dir=$data_dir"
    say "logs=$RUN_DIR/logs"
    for part in "${parts[@]}"; do say "${part}_pid=$(pid_of "$part")"; done
  } >"$RUN_DIR/system.env.$$"
  mv "$RUN_DIR/system.env.$$" "$RUN_DIR/system.env"
}

connection_string() {  # the socket's directory when it is not PostgreSQL's own
  printf '%s' "Host=${1:-$short_dir/postgres};Username=gateway;Database=gateway;Multiplexing=$MULTIPLEXING;" \
    "Maximum Pool Size=$POOL;Max Auto Prepare=32;Auto Prepare Min Usages=2;No Reset On Close=true"
}

# --- a start as a whole

# On the way out of a start: nothing stays, and a second Ctrl-C does not cut it short.
stop_and_exit() {
  local status=$?
  set +e
  trap '' INT TERM
  remove_leavings
  exit "$status"
}

prepare() { [[ ${NO_PUBLISH:-} == 1 ]] || { "$root/eng/setup" && "$root/eng/publish"; }; }

say_ready() {
  local url=http://127.0.0.1:$PORT json='content-type: application/json'
  local default=${DEFAULT_URL:-http://127.0.0.1:$DEFAULT_PORT}
  say 'ready' "- gateway $url, default $default," \
    "fallback ${FALLBACK_URL:-http://127.0.0.1:$FALLBACK_PORT}; logs in $RUN_DIR/logs"
  say 'try:'
  say "  curl -i -H '$json' -d '{\"correlationId\":\"$(</proc/sys/kernel/random/uuid)\",\"amount\":19.90}' $url/payments"
  say "  curl $url/payments-summary"
  # Only our own simulator is there to be broken.
  [[ ${DEFAULT_URL:-} ]] || say \
    "  curl -X PUT -H 'X-Rinha-Token: 123' -H '$json' -d '{\"failure\":true}' $default/admin/configurations/failure"
}
