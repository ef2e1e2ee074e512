package paymentgateway.rig;

import java.util.concurrent.atomic.AtomicLong;

/** What became of the payments that were sent; Gatling's threads write, anyone reads. */
public final class Traffic {
  public final Latencies latencies = new Latencies();
  private final AtomicLong sent = new AtomicLong();
  private final AtomicLong accepted = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();

  public void noteSent() {
    sent.incrementAndGet();
  }

  /** Only an expected answer counts into the official p99. */
  public void noteAnswer(long startedNanos, int status) {
    if (status / 100 != 2) return;
    latencies.add(startedNanos, System.nanoTime());
    accepted.incrementAndGet();
  }

  /** Refused, late, or no answer at all. */
  public void noteFailure() {
    failed.incrementAndGet();
  }

  public long sent() {
    return sent.get();
  }

  public long accepted() {
    return accepted.get();
  }

  public long failed() {
    return failed.get();
  }
}
