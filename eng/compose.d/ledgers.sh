# shellcheck shell=bash
# Sourced by eng/compose-test: a bounded load on port 9999, and the comparison of every payment: the clients' answers,
# the gateway's ledger, the processors' ledgers.

gateway=http://127.0.0.1:9999 processors=(http://127.0.0.1:8001 http://127.0.0.1:8002)
loads=0 workers=8 acknowledged=''

# 400 payments a second for so many seconds, each with an id and an amount of its own; a failed one is not repeated.
load() {  # seconds
  local worker
  loads=$((loads + 1))
  for ((worker = 0; worker < workers; worker++)); do
    awk -v load="$loads" -v worker="$worker" -v count="$(($1 * 50))" -v url="$gateway/payments" 'BEGIN {
      for (i = 1; i <= count; i++) {
        id = sprintf("%08x-%04x-4%03x-8000-%012x", i * 2654435761 % 4294967296, load, worker, i)
        printf "url = \"%s?%s\"\nheader = \"content-type: application/json\"\n", url, id
        printf "max-time = 3\noutput = /dev/null\n"
        amount = 1 + (i * 8 + worker) % 5000 / 100
        printf "data = \"{\\\"correlationId\\\":\\\"%s\\\",\\\"amount\\\":%.2f}\"\n", id, amount
        printf "write-out = \"%%{http_code} %%{url}\\n\"\n%s", i < count ? "next\n" : ""
      }
    }' >"$scratch/load.$worker"
    # Not by the function: the number has to be that of curl, or of what enters the engine, not of a shell.
    "${enter[@]}" curl --silent --rate 50/s --config "$scratch/load.$worker" >"$scratch/answers.$worker" &
    load_pids[worker]=$!
  done
}

load_wait() {  # sets `taken`, the number of those that were acknowledged
  wait "${load_pids[@]}" || true  # curl's own status is that of its last request
  load_pids=()
  taken=$(sed -n 's/^202 .*?//p' "$scratch"/answers.* | tee -a "$acknowledged" | wc -l)
}

load_here() {  # seconds; nothing is wrong meanwhile, so every payment is acknowledged
  load "$1"
  load_wait
  must test "$taken" = $(($1 * 50 * workers))
}

sql() { docker compose "${files[@]}" exec -T postgres psql -U gateway -d gateway -AtF ' ' -c "$1"; }

admin() { in_engine curl --silent --fail --max-time 10 -H 'X-Rinha-Token: 123' "$@"; }

ledger_forget() {  # begins new ledgers at all three
  in_engine curl --silent --fail -X POST "$gateway/purge-payments" || return
  begin_ledgers
  for processor in "${processors[@]}"; do admin -o /dev/null -X POST "$processor/admin/purge-payments" || return; done
}

gateway_rows() {
  sql "SELECT processor, correlation_id, to_char(amount_cents / 100.0, 'FM9999990.00'), rtrim(rtrim(
    to_char(requested_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), '0'), '.') FROM settlements" \
    | LC_ALL=C sort
}

processor_rows() {
  local number
  { for number in 1 2; do
      { admin "${processors[number - 1]}/admin/payments" && echo; } | tr '{' '\n' \
        | sed -En "s/^\"correlationId\":\"(.*)\",\"amount\":(.*),\"requestedAt\":\"(.*)Z\".*/$number \1 \2 \3/p" \
        || exit 1  # of this side of the pipe
    done
    cat "$scratch/kept"; } | LC_ALL=C sort
}

# Simulators that are about to end forget; what they hold now still counts. Only while nothing is in flight.
processors_keep() { processor_rows >"$scratch/kept.new" && mv "$scratch/kept.new" "$scratch/kept"; }

is_drained() {
  local unsettled settled
  read -r unsettled settled < <(sql 'SELECT count(*) FILTER (WHERE s.accepted_at IS NULL), count(s.accepted_at)
    FROM payments p LEFT JOIN settlements s USING (correlation_id)' 2>/dev/null) || return 1
  ((unsettled == 0 && settled >= $(sort -u "$acknowledged" | wc -l)))
}

# Sets `ledgers` to «equal (count)», or to what is wrong.
compare_ledgers() {
  local summary expected
  wait_for 60 is_drained || true
  gateway_rows >"$scratch/gateway.rows" && processor_rows >"$scratch/processor.rows" \
    || { ledgers='cannot be read'; return 1; }
  cut -d ' ' -f 2 "$scratch/gateway.rows" | LC_ALL=C sort >"$scratch/gateway.ids"
  ledgers=$(
    differ() { local n; n=$(wc -l); ((n == 0)) || printf '%s %s; ' "$n" "$1"; }
    LC_ALL=C sort -u "$acknowledged" | LC_ALL=C comm -23 - "$scratch/gateway.ids" \
      | differ 'acknowledged and not settled'
    LC_ALL=C comm -23 "$scratch/gateway.rows" "$scratch/processor.rows" | differ 'not so at their processor'
    LC_ALL=C comm -13 "$scratch/gateway.rows" "$scratch/processor.rows" | differ 'charged and not in the ledger'
    cut -d ' ' -f 2 "$scratch/processor.rows" | sort | uniq -d | differ 'charged twice')
  summary=$(in_engine curl --silent --max-time 5 "$gateway/payments-summary")
  expected=$(awk '{ n[$1]++; cents[$1] += $3 * 100 } END {
    totals = "\"%s\":{\"totalRequests\":%d,\"totalAmount\":%.2f}"
    printf "{" totals "," totals "}", "default", n[1], cents[1] / 100, "fallback", n[2], cents[2] / 100
  }' "$scratch/processor.rows")
  [[ $summary == "$expected" ]] || ledgers+="the summary says $summary for $expected; "
  [[ ! $ledgers ]] || return 1
  ledgers="equal ($(wc -l <"$scratch/gateway.rows"))"
}
