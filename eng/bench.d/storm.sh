# shellcheck shell=bash disable=SC2154
# Payments at a fixed rate while others ask for summaries as fast as they can: what is charged meanwhile.

section_storm() {
  local windows
  say 'storm windows charges/s before, during, after; POST failed, p50, p99; summaries/s, 503/s, p50, p99; leases'
  for windows in $STORM_WINDOWS; do storm_of "$windows"; done
  table "$STORM_RATE payments/s while $STORM_CONNECTIONS connections ask for summaries, for $STORM_SECONDS s, over $STORM_ROWS settlements; POST ms are of the whole run" \
    '| windows | charges/s before | during | after | POST failed | p50 ms | p99 ms | summaries/s | 503/s | p50 ms | p99 ms | leases |'
  for windows in $(once $STORM_WINDOWS); do table_row storm "$windows" 3 13; done
}

storm_of() {  # same | distinct
  local before during after
  local post asked seconds p50 p99 refused _
  await_idle "a storm of $1 windows"
  running=stored
  system start postgres
  fill_books "$STORM_ROWS"
  sync
  system start default fallback api1 api2 nginx
  look_at_parts
  warm_side
  await_settled "$(gateway_sql -c 'SELECT count(*) FROM payments')"
  "$tool" rate "$url" "$STORM_RATE" $((3 * STORM_SECONDS + 12)) >"$out/rate.txt" &
  rate_pid=$!
  # The generator compiles itself for two seconds; a storm needs a moment to be one.
  sleep 4
  before=$(stretch)
  BENCH_SUMMARY="$1 $(span_seconds)" wrk -t1 -c"$STORM_CONNECTIONS" -d$((STORM_SECONDS + 2))s -s "$root/eng/bench.lua" "$url" \
    >"$out/wrk.txt" &
  sleep 1
  during=$(stretch)
  wait $!
  sleep 2
  after=$(stretch)
  wait "$rate_pid"
  rate_pid=''
  read -r -a post <<<"$(sed -n 's/^result //p' "$out/rate.txt")"
  read -r asked seconds p50 p99 _ refused <<<"$(sed -n 's/^result //p' "$out/wrk.txt")"
  [[ ${refused:-} ]] || die 'wrk left no result'
  await_settled "$(gateway_sql -c 'SELECT count(*) FROM payments')"
  row storm "$1" "$(charged "$before") $(charged "$during") $(charged "$after") ${post[2]} ${post[3]} ${post[4]}" \
    "$(awk -v n="$asked" -v r="$refused" -v s="$seconds" 'BEGIN { printf "%d %d", (n - r) / s, r / s }') $p50 $p99" \
    "$(gateway_sql -c 'SELECT count(*) FROM leases WHERE epoch > 0')"
  stop_side
}

span_seconds() {
  gateway_sql -F ' ' -c 'SELECT floor(extract(epoch FROM min(requested_at)))::bigint,
    ceil(extract(epoch FROM max(requested_at)))::bigint FROM settlements'
}

stretch() {  # prints when it began and ended
  local from
  from=$(date -u +%s.%N)
  sleep "$STORM_SECONDS"
  printf '%s %s' "$from" "$(date -u +%s.%N)"
}

charged() {  # from, to; per second
  local from to
  read -r from to <<<"$1"
  gateway_sql -c "SELECT round(count(*) / ($to - $from), 1) FROM settlements
    WHERE requested_at >= to_timestamp($from) AND requested_at < to_timestamp($to)"
}
