# shellcheck shell=bash disable=SC2154
# Sourced by eng/bench: loads and what is asked after them.

settle_seconds=180

# Closed loop, $CONNECTIONS connections as fast as it goes; prints requests, seconds, p50, p99, failed, not 2xx.
saturate() {  # run number, seconds or N payments
  local count=''
  [[ $2 != *payments ]] || count=${2% payments}
  BENCH_RUN=$1 BENCH_COUNT=$count wrk -t1 -c"$CONNECTIONS" -d"$([[ $count ]] && printf 120 || printf '%s' "$2")s" \
    -s "$root/eng/bench.lua" "$url" | sed -n 's/^result //p'
}

# Open loop; prints sent, accepted, failed, p50, p99, most, seconds. The first two seconds are not in the latencies.
at_rate() { "$tool" rate "$url" "$@" | sed -n 's/^result //p'; }  # per second, seconds, what

settled() {
  curl -s -m 5 "$url/payments-summary" | sed -E 's/[^0-9]+totalRequests":([0-9]+)[^}]*/\1 /g' | awk '{ print $1 + $2 }'
}

# What was accepted is settled in the end: counted, not believed.
await_settled() {
  local limit=$((SECONDS + settle_seconds)) have
  while have=$(settled); ((${have:-0} < $1)); do
    ((SECONDS < limit)) || die "only $have of $1 payments were settled after $settle_seconds s"
    sleep 0.2
  done
}

processors() {  # failure|delay, its value
  local one field=$1
  for one in "$DEFAULT_PORT" "$FALLBACK_PORT"; do
    curl -fsS -m 5 -o /dev/null -X PUT -H 'X-Rinha-Token: 123' -H 'content-type: application/json' \
      -d "{\"$field\":$2}" "http://127.0.0.1:$one/admin/configurations/$field"
  done
}

# The machine as a whole is warmed once (page cache, clocks), each side briefly after its start: thirty seconds for
# every side of every round would be half of the bench.
warm_machine() {
  ((WARM_SECONDS)) || return 0
  await_idle 'the warm-up'
  say "warming up for $WARM_SECONDS s"
  start_side stored
  saturate 9999 "$WARM_SECONDS" >/dev/null
  stop_side
}

warm_side() {
  BENCH_RUN=9998 wrk -t1 -c8 -d2s -s "$root/eng/bench.lua" "$url" >/dev/null
  sleep 1
}
