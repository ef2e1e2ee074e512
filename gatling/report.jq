# What a load says, as one object: its own figures, with CPU and memory of the parts, the times by nginx's clock, the
# score, and all that is wrong. eng/load calls it with the files that a run leaves:
#   $figures, $run   the figures of the simulation, and what was played against what
#   $use             lines of second, part, CPU in ms and KiB, for each process of a part
#   $times           how many seconds nginx took for each payment, sorted
#   $ledgers         the summaries of the gateway and of each processor, after the load

def cents: . * 100 | round / 100;

# Between neighbours, of sorted numbers.
def percentile($percent): ($percent / 100 * (length - 1)) as $at | ($at | floor) as $below
  | .[$below] + (.[[$below + 1, length - 1] | min] - .[$below]) * ($at - $below);

# In the order of time: the second, and of each part its CPU and memory.
def samples: split("\n") | map(select(. != "") / " ") | group_by(.[0] | tonumber) | map({
    second: (.[0][0] | tonumber),
    parts: (group_by(.[1]) | map({
      key: .[0][1],
      value: {ms: (map(.[2] | tonumber) | add), mib: (map(.[3] | tonumber) | add / 1024)}
    }) | from_entries)
  });

# From the first sample, as the load begins, to the last one, as it ends.
def cpu($accepted): def used(parts): [(.[-1], .[0]) | .parts | [parts | .ms] | add // 0] | .[0] - .[1];
  {nginx: used(.nginx), instances: used(.api1, .api2), postgreSql: used(.postgres)} | {
    cpuSeconds: map_values(. / 1000),
    cpuSecondsPer1000: (add / ([$accepted, 1] | max) * 1000 | round / 1000)
  };

# A peak, and the means of the first and the last five minutes, or quarters of what is shorter.
def memory: .[1:] | .[-1].second as $until | ([$until / 4, 300] | min) as $span | {
    peakMemoryMiB: (map([.parts[].mib] | add) | max * 10 | round / 10),
    memoryMiBFirstAndLast: (. as $all | .[0].parts | with_entries(.key as $part | .value = (
      [($all | (map(select(.second <= $span)) | if . == [] then $all[:1] else . end),
        map(select(.second >= $until - $span))) | map(.parts[$part].mib) | add / length * 10 | round / 10])))
  };

# Instances must not grow at all; PostgreSQL fills its buffers first, and nginx has nothing. Before ten minutes a pool
# still fills and a heap still finds its size, and a page table or a connection more is noise.
def growth($seconds): to_entries[] | select($seconds >= 600 and (.key | startswith("api")))
  | .key as $part | .value | . as [$first, $last] | select($last > $first * 1.1 and $last > $first + 4)
  | "memory: \($part) grew from \($first) to \($last) MiB";

# docs/contract.md, the official loads.
def score: . as $run | ([.settled[].amount] | add) as $gross
  | ([.settled | to_entries[] | .value.amount * $run.feeOf[.key]] | add) as $fees
  | ([0, ((11 - .p99Ms) * 0.02 | cents)] | max) as $bonus
  | (($gross - $fees) * (1 + $bonus - if .inconsistencies > 0 then 0.35 else 0 end)) as $score
  | {gross: $gross, fees: $fees, net: ($gross - $fees), score: $score} | map_values(cents);

# A payment without an answer may be stored, so only more than were sent are wrong. A name that one side lacks is wrong
# even without a payment.
def differences($accepted; $sent): . as {$gateway, $processors}
  | if $gateway == null or $processors == null then "ledger: the summaries cannot be read" else
      (($gateway + $processors | keys[]) as $name
        | [$gateway, $processors | .[$name] | [.totalRequests, .totalAmount]]
        | select(.[0] != .[1]) | map(if . == [null, null] then "nothing" else "\(.[0]) of \(.[1])" end)
        | "ledger: \($name) has \(.[0]) at the gateway, and \(.[1]) itself"),
      ([$gateway[].totalRequests] | add // 0
        | if . < $accepted then "ledger: \($accepted - .) accepted payments are not settled" else empty end,
          if . > $sent then "ledger: \(. - $sent) payments more than were sent" else empty end)
    end;

$figures[0] as $load | ($use | samples) as $samples
| $load + $run[0]
  + (if $samples != [] then $samples | cpu($load.accepted) + memory else {} end)
  + ($times | if . != [] then {nginxP50Ms: 50, nginxP99Ms: 99, nginxP999Ms: 99.9, nginxMaxMs: 100}
      | map_values(. as $percent | $times | percentile($percent) * 1000 | cents) else {} end)
  + (if $load.inconsistencies then $load | score else {} end)
| .failures += [
    (if $samples != [] then .memoryMiBFirstAndLast | growth($samples[-1].second) else empty end),
    ($ledgers[] | differences($load.accepted; $load.sent))
  ]
