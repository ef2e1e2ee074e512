# shellcheck shell=bash disable=SC2154
# Payments queue up while both processors fail, then drain while as many arrive as before.

section_drain() {
  local delay
  say 'drain delay_ms calm_p50 p99 queued drain_s per_s p50 p99 factor failed CPU/1000 …; peaks of memory'
  for delay in $DRAIN_DELAYS; do drain_at "$delay"; done
  table "Drain of $DRAIN_PAYMENTS queued payments while $RATE/s arrive; over when a second of arrivals waits" \
    "| delay ms | p50 before | p99 before | queued | drain s | settled/s | p50 meanwhile | p99 | p99 factor | failed |"
  for delay in $(once $DRAIN_DELAYS); do table_row drain "$delay" 3 11; done
  table 'The same: CPU s / 1,000 settled in the drain, and the peaks of memory, MiB' \
    '| delay ms | all | nginx | instances | PostgreSQL | whole PSS | instance PSS | instance resident |'
  for delay in $(once $DRAIN_DELAYS); do table_row drain "$delay" 12 18; done
}

drain_at() {  # delay of both processors, ms
  local calm before queued took during known
  await_idle "drain at $1 ms"
  start_side stored
  watch_memory
  processors delay "$1"
  warm_side
  read -r -a calm <<<"$(at_rate "$RATE" 15)"
  processors failure true
  known=$(settled)
  read -r -a queued <<<"$(saturate 1 "$DRAIN_PAYMENTS payments")"
  before=$((queued[0] - queued[4]))
  say "  $before queued in ${queued[1]} s"
  drain "$known" "$before"
  row drain "$1" "${calm[3]} ${calm[4]} $before $took" \
    "$(bc <<<"scale = 0; ($settled_by_then - $known) / $took")" "${during[3]} ${during[4]}" \
    "$(bc <<<"scale = 2; ${during[4]} / ${calm[4]}")" "${during[2]}" "$drain_cpu $(stop_watching)"
  stop_side
}

# Sets took, during, settled_by_then and drain_cpu.
drain() {  # settled before, queued
  local start healed now have=$1
  "$tool" rate "$url" "$RATE" "$settle_seconds" >"$out/rate.txt" &
  rate_pid=$!
  start=${EPOCHREALTIME/./}
  # A second of it is also what the generator may take to begin.
  sleep 2.3
  take_cpu
  processors failure false
  healed=${EPOCHREALTIME/./}
  while :; do
    sleep 0.25
    have=$(settled)
    now=${EPOCHREALTIME/./}
    printf '%s ms: %s of %s\n' $(((now - healed) / 1000)) "$have" \
      $(($1 + $2 + RATE * (now - start) / 1000000)) >>"$out/drain.txt"
    ((${have:-0} < $1 + $2 + RATE * (now - start) / 1000000 - RATE)) || break
    ((now - healed < settle_seconds * 1000000)) || { say "not drained after $settle_seconds s: $have settled"; break; }
  done
  took=$(bc <<<"scale = 1; ($now - $healed) / 1000000")
  settled_by_then=$have
  drain_cpu=$(cpu_per_1000 $((have - $1)))
  kill -TERM "$rate_pid"
  wait "$rate_pid" || true
  rate_pid=''
  read -r -a during <<<"$(sed -n 's/^result //p' "$out/rate.txt")"
}
