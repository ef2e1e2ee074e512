# shellcheck shell=bash disable=SC2154
# An instance from its start until it is ready, what the system holds in memory, and the binary.

section_start() {
  local round idle peak size
  await_idle start
  start_side stored
  sleep 5
  idle=$(memory_now)
  watch_memory
  at_rate "$RATE" 20 >/dev/null
  peak=$(stop_watching)
  size=$(stat -c %s "$artifacts/publish/PaymentGateway/release_linux-x64/PaymentGateway")
  for ((round = 1; round <= STARTS; round++)); do time_start; done
  stop_side
  row memory idle "$idle"
  row memory peak "$peak"
  table "Start to ready of one instance, database there, $STARTS starts; memory (PSS) after $RATE/s for 22 s" \
    '| ready ms: least | median | most | MiB idle: whole | one | resident | peak: whole | one | resident | binary |'
  tell "| $(figures start api2 3 | sort -g | head -n 1) | $(median_of start api2 3) |" \
    "$(figures start api2 3 | sort -g | tail -n 1) | ${idle// / | } | ${peak// / | } | $((size / 1000000)) MB |"
}

time_start() {
  local started ready
  system stop api2
  rm -f "$out/ready.txt"
  "$tool" ready "$(value_of api2_socket)" 10 >"$out/ready.txt" &
  until [[ -s $out/ready.txt ]]; do sleep 0.02; done
  # As eng/system does it, but timed from the launch alone.
  started=$(load_settings && apply_defaults && printf '%s' "${EPOCHREALTIME/./}" && start_instance api2)
  wait $! || die 'the instance was not ready within 10 s'
  ready=$(tail -n 1 "$out/ready.txt")
  row start api2 "$(bc <<<"scale = 1; ($ready - $started) / 1000")"
}
