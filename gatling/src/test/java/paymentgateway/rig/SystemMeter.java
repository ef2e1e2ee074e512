package paymentgateway.rig;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** CPU seconds and memory of the parts that the budget is for; one thread. */
final class SystemMeter {
  private static final List<String> PARTS = List.of("nginx", "api1", "api2", "postgres");
  /** Linux counts in hundredths wherever we run (USER_HZ). */
  private static final double TICKS_PER_SECOND = 100;
  private static final long PAUSE_NANOS = 10_000_000;
  private final Map<String, Long> pids = new LinkedHashMap<>();

  SystemMeter(Settings settings) {
    try {
      if (!settings.systemEnv.isEmpty()) readPids(Files.readAllLines(Path.of(settings.systemEnv)));
    } catch (IOException unreadable) {
      throw new UncheckedIOException(unreadable);
    }
  }

  private void readPids(List<String> lines) {
    for (var part : PARTS)
      for (var line : lines)
        if (line.matches(part + "_pid=\\d+")) pids.put(part, Long.valueOf(line.substring(part.length() + 5)));
  }

  Map<String, Double> cpuSeconds() {
    var processes = pids.isEmpty() ? null : Processes.read();
    var seconds = new LinkedHashMap<String, Double>();
    pids.forEach((part, pid) -> seconds.put(part, processes.ticks(pid) / TICKS_PER_SECOND));
    return seconds;
  }

  /** Shared pages are divided among those who share them, so parts may be added up. */
  Map<String, Long> pssKiB() {
    var processes = pids.isEmpty() ? null : Processes.read();
    var memory = new LinkedHashMap<String, Long>();
    pids.forEach((part, pid) ->
        memory.put(part, processes.tree(pid).stream().mapToLong(SystemMeter::pss).sum()));
    return memory;
  }

  private static long pss(long pid) {
    // The kernel walks all pages of a process; some twenty in a row keep a core from the load for several ms.
    LockSupport.parkNanos(PAUSE_NANOS);
    try {
      for (var line : Files.readAllLines(Path.of("/proc/" + pid + "/smaps_rollup")))
        if (line.startsWith("Pss:")) return Long.parseLong(line.replaceAll("\\D", ""));
    } catch (IOException endedOrForbidden) {
      // A process that just ended holds nothing; one of another user counts for nothing and PSS is too small.
    }
    return 0;
  }

  /** One sample of all processes: parent, and time used with that of children that ended. */
  private record Processes(Map<Long, Long> ticks, Map<Long, List<Long>> children) {
    static Processes read() {
      var found = new Processes(new HashMap<>(), new HashMap<>());
      try (var directories = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
        for (var directory : directories) found.add(directory);
      } catch (IOException unreadable) {
        throw new UncheckedIOException(unreadable);
      }
      return found;
    }

    private void add(Path directory) {
      try {
        var stat = Files.readString(directory.resolve("stat"));
        // The name may hold spaces and brackets: what counts begins after the last one.
        var fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        var pid = Long.valueOf(directory.getFileName().toString());
        children.computeIfAbsent(Long.valueOf(fields[1]), none -> new ArrayList<>()).add(pid);
        var used = 0L;
        for (var i = 11; i <= 14; i++) used += Long.parseLong(fields[i]);
        ticks.put(pid, used);
      } catch (IOException ended) {
        // It was there when the directory was listed.
      }
    }

    List<Long> tree(long root) {
      var found = new ArrayList<Long>();
      var open = new ArrayDeque<>(List.of(root));
      while (!open.isEmpty()) {
        var pid = open.pop();
        found.add(pid);
        open.addAll(children.getOrDefault(pid, List.of()));
      }
      return found;
    }

    long ticks(long root) {
      return tree(root).stream().mapToLong(pid -> ticks.getOrDefault(pid, 0L)).sum();
    }
  }
}
