package paymentgateway.rig;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** The run as tables for plot/run.gp: latency by second, what is settled, the stages. */
final class Tables {
  private final List<Settled> settled = new ArrayList<>();

  /** One sample of the processors: when, what was accepted by then, what they had. */
  record Settled(double second, long accepted, Summary stored) {}

  synchronized void add(Settled sample) {
    settled.add(sample);
  }

  synchronized void write(Path folder, Latencies latencies, List<Stage> stages, double seconds) throws IOException {
    Files.createDirectories(folder);
    writeLatencies(folder.resolve("latency.csv"), latencies, (int) Math.ceil(seconds));
    writeStages(folder.resolve("stages.csv"), stages, seconds);
    var lines = new ArrayList<>(List.of("second,accepted,default,all,backlog"));
    for (var sample : settled) {
      var all = sample.stored.all().requests();
      lines.add(line("%.3f,%d,%d,%d,%d", sample.second, sample.accepted, sample.stored.of("default").requests(), all,
          Math.max(0, sample.accepted - all)));
    }
    Files.write(folder.resolve("settled.csv"), lines);
  }

  // At most some 600 points, so that a run of hours is still a line and not a band.
  private static void writeLatencies(Path file, Latencies latencies, int seconds) throws IOException {
    var step = Math.max(1, seconds / 600);
    var bySecond = latencies.bySecond(seconds);
    var lines = new ArrayList<>(List.of("second,perSecond,p50,p90,p99,max"));
    for (var from = 0; from < seconds; from += step) {
      var times = merge(bySecond, from, Math.min(from + step, seconds));
      if (times.length > 0)
        lines.add(line("%.1f,%.1f,%.3f,%.3f,%.3f,%.3f", from + step / 2.0, times.length / (double) step,
            Latencies.percentile(times, 50), Latencies.percentile(times, 90), Latencies.percentile(times, 99),
            Latencies.percentile(times, 100)));
    }
    Files.write(file, lines);
  }

  private static int[] merge(int[][] bySecond, int from, int to) {
    var merged = java.util.stream.IntStream.range(from, to).mapToObj(s -> java.util.Arrays.stream(bySecond[s]))
        .reduce(java.util.stream.IntStream.empty(), java.util.stream.IntStream::concat).toArray();
    java.util.Arrays.sort(merged);
    return merged;
  }

  private static void writeStages(Path file, List<Stage> stages, double seconds) throws IOException {
    var lines = new ArrayList<>(List.of("from,to,defaultDelay,defaultFailing,fallbackDelay,fallbackFailing"));
    for (var i = 0; i < stages.size(); i++) {
      var stage = stages.get(i);
      lines.add(line("%.2f,%.2f,%d,%d,%d,%d", stage.second(), Stage.endOf(stages, i, seconds), stage.defaultDelayMs(),
          stage.defaultFailing() ? 1 : 0, stage.fallbackDelayMs(), stage.fallbackFailing() ? 1 : 0));
    }
    Files.write(file, lines);
  }

  // Locale.ROOT: a comma for the decimal point would be one column more.
  private static String line(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
