# shellcheck shell=bash disable=SC2154
# POST /payments as fast as 64 connections can, sides in turn; CPU until everything accepted is settled.

section_saturation() {
  local round side sides
  read -r -a sides <<<"$SIDES"
  say 'saturation side req/s p50 p99 CPU/1000: all nginx instances postgres; failed'
  for ((round = 1; round <= ROUNDS; round++)); do
    for side in "${sides[@]}"; do saturate_side "$side" "$round"; done
  done
  table "Saturation through nginx: wrk, $CONNECTIONS connections (closed loop), unique ids, sides in turn, medians of
$ROUNDS × $SECONDS_EACH s, after one warm-up of the machine of $WARM_SECONDS s and 2 s a side" \
    '| side | req/s | p50 ms | p99 ms | CPU s / 1,000 | nginx | instances | PostgreSQL | refused | of the stub |'
  for side in "${sides[@]}"; do saturation_row "$side"; done
}

saturate_side() {  # side, round
  local known=0 requests seconds p50 p99 failed _
  await_idle "$1, round $2"
  start_side "$1"
  warm_side
  [[ $1 == nginx-alone || $1 == stub ]] || known=$(settled)
  take_cpu
  read -r requests seconds p50 p99 failed _ <<<"$(saturate "$2" "$SECONDS_EACH")"
  [[ $1 == nginx-alone || $1 == stub ]] || await_settled $((known + requests - failed))
  row saturation "$1" "$(awk -v n=$((requests - failed)) -v s="$seconds" 'BEGIN { printf "%d", n / s }')" \
    "$p50" "$p99" "$(cpu_per_1000 $((requests - failed)))" "$failed"
  stop_side
}

saturation_row() {
  local stub share='' line column
  stub=$(median_of saturation stub 3)
  [[ ! $stub ]] || share=$(bc <<<"100 * $(median_of saturation "$1" 3) / $stub")' %'
  line="| $1 |"
  for column in 3 4 5 6 7 8 9 10; do line+=" $(median_of saturation "$1" "$column") |"; done
  tell "$line $share |"
}
