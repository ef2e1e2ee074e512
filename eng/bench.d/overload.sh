# shellcheck shell=bash disable=SC2154
# More clients than nginx lets in, for minutes: what is past the bounds is refused, and nothing acknowledged is lost.

section_overload() {
  local CONNECTIONS=$OVERLOAD_CONNECTIONS settle_seconds=3600  # as saturate and await_settled see them
  local known asked seconds p50 p99 refused acknowledged stored all at_end ended waited cpu books charged verdict _
  # nginx serves 1,024; a client that cannot open more would never be past the bounds.
  (($(ulimit -n) > CONNECTIONS + 50)) || ulimit -n $((CONNECTIONS + 100)) || die "ulimit -n is below $CONNECTIONS"
  await_idle overload
  start_side stored
  watch_memory
  warm_side
  known=$(rows_of payments)
  take_cpu
  read -r asked seconds p50 p99 _ refused <<<"$(saturate 1 "$OVERLOAD_SECONDS")"
  [[ ${refused:-} ]] || die 'wrk left no result'
  ended=$SECONDS acknowledged=$((asked - refused))
  at_end=$(rows_of settlements)
  # What was on its way when wrk left may still be stored, for as long as a statement may run.
  sleep 7
  all=$(rows_of payments)
  # Of this run alone: it is in the id, so the warm-up's payments cannot stand in for lost ones.
  stored=$(gateway_sql -c "SELECT count(*) FROM payments WHERE correlation_id::text LIKE '________-0001-%'")
  say "  $acknowledged acknowledged, $refused refused, $stored stored, $((all - at_end)) waited when it ended"
  await_settled "$all"
  waited=$((SECONDS - ended)) cpu=$(cpu_per_1000 $((all - known)))
  books=$(totals "$url/payments-summary") charged=$(totals "http://127.0.0.1:$DEFAULT_PORT/admin/payments-summary")
  charged+=" $(totals "http://127.0.0.1:$FALLBACK_PORT/admin/payments-summary")"
  verdict=agree
  [[ $books == "$charged" && $(settled) == "$all" ]] && ((stored >= acknowledged && refused > 0)) || verdict=WRONG
  row overload stored "$acknowledged" "$(awk -v n="$acknowledged" -v s="$seconds" 'BEGIN { printf "%d", n / s }')" \
    "$refused $p50 $p99 $((all - at_end)) $waited $cpu $(stop_watching) $verdict"
  table "Overload: $CONNECTIONS connections for $OVERLOAD_SECONDS s, then until everything stored is settled; CPU with the refusals" \
    '| side | acknowledged | per s | refused (503) | p50 ms of all answers | p99 ms | waiting at the end | settled after s | CPU s / 1,000 | nginx | instances | PostgreSQL | whole PSS, MiB | instance PSS | instance resident | books and processors |'
  table_row overload stored 3 17
  [[ $verdict == agree ]] \
    || die "acknowledged $acknowledged, stored $stored, all $all; books $books; processors $charged"
  stop_side
}

rows_of() { gateway_sql -c "SELECT count(*) FROM $1"; }

# Payments and amount of each processor in a summary, in one form: a processor writes 19.9 where we write 19.90.
totals() {
  curl -s -m 30 -H 'X-Rinha-Token: 123' "$1" | grep -oE '"total(Requests|Amount)":[0-9.]+' \
    | awk -F : '{ printf("%s%.2f", (NR > 1 ? " " : ""), $2) }' || die "no summary at $1"
}
