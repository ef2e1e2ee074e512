package paymentgateway.rig;

import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Times of answered calls, in microseconds: Gatling's own are whole milliseconds, too coarse where the score turns on
 * tenths. Any thread may add.
 */
public final class Latencies {
  private long[] entries = new long[1 << 15];
  private int count;
  private volatile long zeroNanos = System.nanoTime();

  /** What was added before, calls of the preparation, stays, at negative times. */
  void startAt(long nanos) {
    zeroNanos = nanos;
  }

  public synchronized void add(long startedNanos, long endedNanos) {
    if (count == entries.length) entries = Arrays.copyOf(entries, count * 2);
    var micros = Math.min((endedNanos - startedNanos) / 1000, Integer.MAX_VALUE);
    // Milliseconds since the start above, microseconds taken below: one array, and no garbage while it runs.
    entries[count++] = (startedNanos - zeroNanos) / 1_000_000 << 32 | micros;
  }

  /** Those that began in [fromMs, toMs), sorted. */
  public int[] between(long fromMs, long toMs) {
    long[] added;
    int size;
    // What was added stays as it is: only its length needs the lock, for which whoever adds would wait.
    synchronized (this) {
      added = entries;
      size = count;
    }
    var found = new int[size];
    var n = 0;
    for (var i = 0; i < size; i++) {
      var at = added[i] >> 32;
      if (at >= fromMs && at < toMs) found[n++] = (int) added[i];
    }
    found = Arrays.copyOf(found, n);
    Arrays.sort(found);
    return found;
  }

  public int[] all() {
    return between(Long.MIN_VALUE, Long.MAX_VALUE);
  }

  /** Both, sorted. */
  static int[] merge(int[] some, int[] others) {
    return IntStream.concat(Arrays.stream(some), Arrays.stream(others)).sorted().toArray();
  }

  /** By second of the run, each sorted: one pass, whatever the length of the run. */
  synchronized int[][] bySecond(int seconds) {
    var sizes = new int[seconds];
    for (var i = 0; i < count; i++) if (inside(entries[i], seconds)) sizes[second(entries[i])]++;
    var found = new int[seconds][];
    for (var s = 0; s < seconds; s++) found[s] = new int[sizes[s]];
    for (var i = 0; i < count; i++)
      if (inside(entries[i], seconds)) found[second(entries[i])][--sizes[second(entries[i])]] = (int) entries[i];
    for (var times : found) Arrays.sort(times);
    return found;
  }

  private static boolean inside(long entry, int seconds) {
    return entry >= 0 && second(entry) < seconds;
  }

  private static int second(long entry) {
    return (int) ((entry >> 32) / 1000);
  }

  /** In milliseconds, between neighbours as k6 reckons it; 0 of nothing. */
  public static double percentile(int[] sortedMicros, double percent) {
    if (sortedMicros.length == 0) return 0;
    var position = percent / 100 * (sortedMicros.length - 1);
    var below = (int) position;
    var above = Math.min(below + 1, sortedMicros.length - 1);
    return (sortedMicros[below] + (sortedMicros[above] - sortedMicros[below]) * (position - below)) / 1000;
  }
}
