package paymentgateway;

import java.util.Arrays;
import java.util.stream.*;

/**
 * Times of answered calls: Gatling's own are whole milliseconds, too coarse where the score turns on tenths. Any thread
 * may add.
 */
final class Latencies {
  // Two arrays, and no garbage while the load runs.
  private long[] started = new long[1 << 15];
  private int[] micros = new int[1 << 15];
  private int count;

  /** A call that has just ended. */
  void add(long startedNanos) {
    var took = (int) Math.min((System.nanoTime() - startedNanos) / 1000, Integer.MAX_VALUE);
    synchronized (this) {
      if (count == started.length) {
        started = Arrays.copyOf(started, count * 2);
        micros = Arrays.copyOf(micros, count * 2);
      }
      started[count] = startedNanos;
      micros[count++] = took;
    }
  }

  /** In milliseconds, sorted, of those that began in [from, to). */
  double[] between(long fromNanos, long toNanos) {
    long[] began;
    int[] took;
    int size;
    // What was added stays as it is: only its length needs the lock, for which whoever adds would wait.
    synchronized (this) {
      began = started;
      took = micros;
      size = count;
    }
    return IntStream.range(0, size).filter(i -> began[i] >= fromNanos && began[i] < toNanos)
        .mapToDouble(i -> took[i] / 1000.0).sorted().toArray();
  }

  double[] all() {
    return between(Long.MIN_VALUE, Long.MAX_VALUE);
  }

  static double[] merge(double[] some, double[] others) {
    return DoubleStream.concat(Arrays.stream(some), Arrays.stream(others)).sorted().toArray();
  }

  /** Between neighbours, as k6 reckons it, in hundredths of a millisecond; 0 of nothing. */
  static double percentile(double[] sorted, double percent) {
    if (sorted.length == 0) return 0;
    var position = percent / 100 * (sorted.length - 1);
    var below = (int) position;
    var above = Math.min(below + 1, sorted.length - 1);
    return Math.round((sorted[below] + (sorted[above] - sorted[below]) * (position - below)) * 100) / 100.0;
  }
}
