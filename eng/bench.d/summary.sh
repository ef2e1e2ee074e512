# shellcheck shell=bash disable=SC2154
# GET /payments-summary over books of several sizes, alone and while payments arrive; and what a payment costs there.

section_summary() {
  local rows
  say 'summary rows all_p50 p99 10s_p50 p99, busy: all_p50 p99 10s_p50 p99; post_p50 p99 CPU/1000 … failed'
  for rows in $SUMMARY_ROWS; do summarise_at "$rows"; done
  table "Summary, $SUMMARY_RATE/s at fixed moments, ms; windows of 10 s anywhere in the books, across buckets" \
    "| settlements | all p50 | p99 | 10 s p50 | p99 | with $RATE/s: all p50 | p99 | 10 s p50 | p99 |"
  for rows in $(once $SUMMARY_ROWS); do table_row summary "$rows" 3 10; done
  table "A payment over the same books, $RATE/s, nobody asking: POST ms, and CPU s / 1,000 until settled" \
    '| settlements | p50 | p99 | CPU s / 1,000 | nginx | instances | PostgreSQL | failed (all) |'
  for rows in $(once $SUMMARY_ROWS); do table_row summary "$rows" 11 17; done
}

summarise_at() {  # settlements in the books
  local post alone_all alone_ten busy_all busy_ten cpu
  running=stored
  system start postgres
  fill_books "$1"
  # Else the kernel writes the books to the disk in the middle of the measurement.
  sync
  await_idle "summary over $1"
  system start default fallback api1 api2 nginx
  look_at_parts
  warm_side
  local known
  known=$(settled)
  take_cpu
  read -r -a post <<<"$(at_rate "$RATE" 10)"
  await_settled $((known + post[1]))
  cpu=$(cpu_per_1000 "${post[1]}")
  ask alone_all
  ask alone_ten windows
  # Long enough for both questions with their leads; ended when they are answered.
  "$tool" rate "$url" "$RATE" $((4 * SUMMARY_SECONDS + 20)) >"$out/rate.txt" &
  rate_pid=$!
  sleep 2
  ask busy_all
  ask busy_ten windows
  kill -TERM "$rate_pid"
  wait "$rate_pid" || true
  rate_pid=''
  read -r -a during <<<"$(sed -n 's/^result //p' "$out/rate.txt")"
  row summary "$1" "${alone_all[3]} ${alone_all[4]} ${alone_ten[3]} ${alone_ten[4]}" \
    "${busy_all[3]} ${busy_all[4]} ${busy_ten[3]} ${busy_ten[4]} ${post[3]} ${post[4]} $cpu" \
    $((post[2] + alone_all[2] + alone_ten[2] + busy_all[2] + busy_ten[2] + during[2])) "POST_p99_asked ${during[4]}"
  stop_side
}

ask() {  # where the figures go, windows
  local -n answer=$1
  local bounds=()
  [[ ${2:-} != windows ]] || read -r -a bounds <<<"$(span) 10"
  read -r -a answer <<<"$(at_rate "$SUMMARY_RATE" "$SUMMARY_SECONDS" summary "${bounds[@]}")"
}

span() {
  gateway_sql -F ' ' -c \
    'SELECT extract(epoch FROM min(requested_at)), extract(epoch FROM max(requested_at)) FROM settlements'
}

# Before there are instances: the indexes are made after the rows, and nobody may write meanwhile.
fill_books() {  # rows
  local start=$SECONDS
  gateway_sql -f "$root/postgres/schema.sql" >>"$out/system.log" 2>&1
  (($1 == 0)) || gateway_sql -v rows="$1" -v rate="$RATE" -f "$root/eng/bench.d/books.sql" >>"$out/system.log" 2>&1
  say "  books of $1 filled in $((SECONDS - start)) s"
}
