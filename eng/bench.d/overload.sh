# shellcheck shell=bash disable=SC2154
# More clients than nginx lets in, for minutes: what is past the bounds is refused, and nothing acknowledged is lost.

section_overload() {
  local asked seconds p50 p99 refused acknowledged stored at_end ended waited books charged cpu verdict=agree
  await_idle overload
  start_side stored
  watch_memory
  warm_side
  take_cpu
  CONNECTIONS=$OVERLOAD_CONNECTIONS
  read -r asked seconds p50 p99 refused <<<"$(saturate 1 "$OVERLOAD_SECONDS")"
  at_end=$(settled) ended=$SECONDS
  # With what the warm-up brought, and what was on its way when wrk left: more than it saw acknowledged.
  stored=$(gateway_sql -c 'SELECT count(*) FROM payments')
  acknowledged=$((asked - refused))
  say "  $acknowledged acknowledged, $refused refused, $stored stored, $at_end settled when it ended"
  settle_seconds=3600 await_settled "$stored"
  waited=$((SECONDS - ended))
  cpu=$(cpu_per_1000 "$stored")
  books=$(totals "$url/payments-summary") charged=$(totals "http://127.0.0.1:$DEFAULT_PORT/admin/payments-summary")
  charged+=" $(totals "http://127.0.0.1:$FALLBACK_PORT/admin/payments-summary")"
  [[ $books == "$charged" && $(settled) == "$stored" ]] && ((stored >= acknowledged)) || verdict=WRONG
  row overload stored "$acknowledged" "$(awk -v n="$acknowledged" -v s="$seconds" 'BEGIN { printf "%d", n / s }')" \
    "$refused $p50 $p99 $((stored - at_end)) $waited $cpu $(stop_watching) $verdict"
  stop_side
  table "Overload: $OVERLOAD_CONNECTIONS connections for $OVERLOAD_SECONDS s, then until everything stored is settled" \
    '| side | acknowledged | per s | refused (503) | p50 ms | p99 ms | waiting at the end | settled after s | CPU s / 1,000 | nginx | instances | PostgreSQL | whole PSS, MiB | instance PSS | instance resident | books and processors |'
  table_row overload stored 3 17
  [[ $verdict == exact ]] || die "the books are $books, the processors have charged $charged"
}

# Payments and amount of each processor in a summary, in one form: a processor writes 19.9 where we write 19.90.
totals() {
  curl -s -m 30 -H 'X-Rinha-Token: 123' "$1" | grep -oE '"total(Requests|Amount)":[0-9.]+' \
    | awk -F : '{ printf "%s%.2f", NR > 1 ? " " : "", $2 }'
}
