package paymentgateway;

import java.io.IOException;
import java.nio.file.*;
import java.util.*;

/** A load as tables for the picture, plot/run.gp. */
final class Tables {
  private final List<String> settled =
      Collections.synchronizedList(new ArrayList<>(List.of("second,accepted,default,all,backlog")));

  /** What the processors had, and what had been accepted by then. */
  void addSettled(double second, long accepted, Map<String, Totals> stored) {
    var all = Totals.requests(stored);
    settled.add(Load.line("%.3f,%d,%d,%d,%d",
        second, accepted, stored.get("default").requests(), all, Math.max(0, accepted - all)));
  }

  void write(Path folder, Load load) throws IOException {
    Files.createDirectories(folder);
    Files.write(folder.resolve("settled.csv"), settled);
    // At most some 600 points, so that a run of hours is still a line and not a band.
    var end = Math.min(load.elapsed, load.seconds);
    var step = Math.max(1, (int) end / 600);
    var rows = new ArrayList<>(List.of("second,perSecond,p50,p90,p99,max"));
    for (var from = 0; from < end; from += step) {
      var times = load.times(from, from + step);
      if (times.length > 0)
        rows.add(Load.line("%.1f,%.1f,%.3f,%.3f,%.3f,%.3f", from + step / 2.0, times.length / (double) step,
            Latencies.percentile(times, 50), Latencies.percentile(times, 90), Latencies.percentile(times, 99),
            Latencies.percentile(times, 100)));
    }
    Files.write(folder.resolve("latency.csv"), rows);
    rows = new ArrayList<>(List.of("from,to,defaultDelay,defaultFailing,fallbackDelay,fallbackFailing"));
    if (!Load.BARE)
      for (var stage : load.stages)
        rows.add(Load.line("%.2f,%.2f,%d,%d,%d,%d", stage.second(), load.endOf(stage), stage.defaultDelay(),
            stage.defaultFails() ? 1 : 0, stage.fallbackDelay(), stage.fallbackFails() ? 1 : 0));
    Files.write(folder.resolve("stages.csv"), rows);
  }
}
