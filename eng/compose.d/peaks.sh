# shellcheck shell=bash
# Sourced by eng/compose-test: the peak memory of each container under four loads, read twice a second from its cgroup
# (version 1): its own (anonymous and shared) and the kernel's, for which it can be killed, and apart from them the page
# cache, which the kernel takes back.

memory_of() {  # cgroup folder: own, kernel, page cache, bytes
  local kernel
  kernel=$(<"$1/memory.kmem.usage_in_bytes")
  awk -v kernel="$kernel" '{ v[$1] = $2 } END { print v["rss"] + v["shmem"], kernel, v["cache"] - v["shmem"] }' \
    "$1/memory.stat"
}

watch_memory() {  # until killed; appends «service own kernel cache cpu_ns»
  local service id folder
  while :; do
    for service in "${!watched[@]}"; do
      id=${watched[$service]}
      folder=/sys/fs/cgroup/memory/$group/$id
      say "$service $(memory_of "$folder") $(<"/sys/fs/cgroup/cpuacct/$group/$id/cpuacct.usage")"
    done >>"$scratch/memory"
    sleep 0.5
  done 2>/dev/null
}

measure() {  # name, load…
  local name=$1 watcher
  shift
  : >"$scratch/memory"
  watch_memory &
  watcher=$!
  "$@" >"$scratch/load.txt" 2>&1 || say "the load ended with $?: $(tail -n 1 "$scratch/load.txt")"
  kill "$watcher"
  wait "$watcher" 2>/dev/null || true
  say "### $name: $(grep -hE '^(result|drained|Requests/sec)' "$scratch/load.txt" | paste -sd ' ')"
  awk '{ if (!($1 in first)) { first[$1] = $5; order[++n] = $1 } last[$1] = $5
         if ($2 + $3 > both[$1]) { both[$1] = $2 + $3; own[$1] = $2; kernel[$1] = $3 }
         if ($4 > cache[$1]) cache[$1] = $4 }
    END { for (i = 1; i <= n; i++) { s = order[i]; printf "| %s | %.1f | %.1f | %.1f | %.1f | %.1f |\n", s,
      both[s] / 1048576, own[s] / 1048576, kernel[s] / 1048576, cache[s] / 1048576, (last[s] - first[s]) / 1e9 } }' \
    "$scratch/memory" | sort
}

burst() { in_engine env BENCH_RUN="$1" wrk -t2 -c"$2" -d"$3" -s "$root/eng/bench.lua" "$gateway/payments"; }

processors_fail() {  # true | false
  local processor
  for processor in "${processors[@]}"; do
    admin -o /dev/null -X PUT -H 'content-type: application/json' -d "{\"failure\":$1}" \
      "$processor/admin/configurations/failure"
  done
}

settle() { wait_for "$1" nothing_unsettled; }

drain() {
  local from
  processors_fail true
  BENCH_COUNT=50000 burst 9003 128 60s
  from=$(date +%s)
  processors_fail false
  settle 120
  say "drained in $(($(date +%s) - from)) s"
}

official() { in_engine env URL="$gateway" "$root/eng/gatling" official; }

peaks() {
  local service killed
  declare -gA watched=()
  [[ $engine && -d /sys/fs/cgroup/memory ]] || die 'peaks needs an engine of its own and version 1 of the cgroups'
  command -v wrk >/dev/null || "$root/eng/setup" wrk
  must compose up -d --no-build --wait || die 'the stack did not start'
  for service in nginx api1 api2 postgres payment-processor-default; do watched[$service]=$(id_of "$service"); done
  say '| container | own and kernel, MiB | own | kernel | page cache | CPU s |'
  say '| --- | --- | --- | --- | --- | --- |'
  measure 'the official minute' official
  measure '256 connections for 60 s' burst 9001 256 60s
  settle 300 || true
  measure '1,200 connections for 60 s' burst 9002 1200 60s
  settle 300 || true
  measure 'a drain of 50,000' drain
  killed=$(killed_for_memory)
  say "killed for memory: ${killed:-none}"
  compose down -v
}
