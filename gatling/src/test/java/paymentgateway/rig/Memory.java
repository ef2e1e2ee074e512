package paymentgateway.rig;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Samples of each part's PSS over a run: the peak, and whether the end is heavier than the beginning. */
final class Memory {
  /** At most so much, in either measure, is noise: a page table, a connection more. */
  private static final double GROWTH_FACTOR = 1.10;
  private static final long GROWTH_KIB = 4096;
  private final List<Sample> samples = new ArrayList<>();

  /** One sample: when, in seconds of the run, and KiB by part. */
  record Sample(double second, Map<String, Long> kib) {
    long total() {
      return kib.values().stream().mapToLong(Long::longValue).sum();
    }
  }

  synchronized void add(double second, Map<String, Long> kib) {
    if (!kib.isEmpty()) samples.add(new Sample(second, kib));
  }

  synchronized List<Sample> samples() {
    return List.copyOf(samples);
  }

  synchronized double peakMiB() {
    return samples.stream().mapToLong(Sample::total).max().orElse(0) / 1024.0;
  }

  synchronized Map<String, Object> peaksMiB() {
    var peaks = new LinkedHashMap<String, Object>();
    for (var sample : samples)
      sample.kib.forEach((part, kib) ->
          peaks.merge(part, round(kib / 1024.0), (a, b) -> Math.max((Double) a, (Double) b)));
    return peaks;
  }

  /** Means of the first and of the last so many seconds, by part, in MiB: [first, last]. */
  synchronized Map<String, double[]> firstAndLast(double span, double end) {
    var means = new LinkedHashMap<String, double[]>();
    for (var part : samples.isEmpty() ? List.<String>of() : samples.get(0).kib.keySet())
      means.put(part, new double[] {mean(part, 0, span), mean(part, end - span, end + 1)});
    return means;
  }

  /** Instances must not grow at all; PostgreSQL fills its buffers first, and nginx has next to nothing. */
  List<String> growth(double span, double end) {
    var wrong = new ArrayList<String>();
    firstAndLast(span, end).forEach((part, mean) -> {
      if (part.startsWith("api") && mean[1] > mean[0] * GROWTH_FACTOR && mean[1] > mean[0] + GROWTH_KIB / 1024.0)
        wrong.add("memory: " + part + " grew from " + round(mean[0]) + " to " + round(mean[1]) + " MiB");
    });
    return wrong;
  }

  private double mean(String part, double from, double to) {
    return samples.stream().filter(sample -> sample.second >= from && sample.second <= to)
        .mapToLong(sample -> sample.kib.getOrDefault(part, 0L)).average().orElse(0) / 1024;
  }

  static double round(double value) {
    return Math.round(value * 10) / 10.0;
  }
}
