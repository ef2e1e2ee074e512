# shellcheck shell=bash disable=SC2154
# Latency and CPU at a fixed rate of arrivals. Gatling's open arrivals would not do here: it empties the
# books first, and its JVM would want a good part of the two cores.

section_rate() {
  local round side sides
  read -r -a sides <<<"$RATE_SIDES"
  say 'rate side p50 p99 most CPU/1000: all nginx instances postgres; failed'
  for ((round = 1; round <= ROUNDS; round++)); do
    for side in "${sides[@]}"; do rate_side "$side" "$round"; done
  done
  table "$RATE payments/s at fixed moments, timed from when they were due; medians of $ROUNDS × $RATE_SECONDS s" \
    '| side | p50 ms | p99 ms | most ms | CPU s / 1,000 | nginx | instances | PostgreSQL | failed |'
  for side in "${sides[@]}"; do table_row rate "$side" 3 10; done
}

rate_side() {  # side, round
  local known=0 accepted failed p50 p99 most _
  await_idle "$1 at $RATE/s, round $2"
  start_side "$1"
  warm_side
  [[ $1 == stub ]] || known=$(settled)
  take_cpu
  read -r _ accepted failed p50 p99 most _ <<<"$(at_rate "$RATE" "$RATE_SECONDS")"
  [[ $1 == stub ]] || await_settled $((known + accepted))
  row rate "$1" "$p50 $p99 $most $(cpu_per_1000 "$accepted") $failed"
  stop_side
}
