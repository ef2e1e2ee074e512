package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.*;

import java.util.*;

/** More and more arrivals per second until the gateway refuses or is slow: where is the knee? */
public final class Saturation extends Load {
  private static final int FROM = Integer.getInteger("from", 500);
  private static final int STEP = Integer.getInteger("step", 500);
  private static final int STEPS = Integer.getInteger("steps", 20);
  private static final int STEP_SECONDS = Integer.getInteger("stepSeconds", 10);
  private static final double SLOW_MS = setting("slowMs", 100);

  private record Step(int perSecond, int acceptedPerSecond, long failed, double p50Ms, double p99Ms) {}

  private final List<Step> steps = new ArrayList<>();
  private volatile String stopped;
  private int knee;
  private long failedBefore;

  public Saturation() {
    super((double) STEPS * STEP_SECONDS, Preview.AMOUNT, List.of());
    setUp(warmUpThen(scenario("payers")
        .exec(stopLoadGeneratorIf("the knee is passed", session -> stopped != null))
        .exec(payOnce())
        .injectOpen(incrementUsersPerSec(STEP).times(STEPS).eachLevelLasting(STEP_SECONDS).startingFrom(FROM))))
        .protocols(Payments.protocol().shareConnections());
  }

  @Override
  void conduct() {
    for (var i = 0; i < STEPS; i++) {
      var step = i;
      at((step + 1) * STEP_SECONDS, () -> measure(step));
    }
  }

  // The steps end one after the other, on the conductor's threads.
  private synchronized void measure(int step) {
    if (stopped != null) return;
    var rate = FROM + step * STEP;
    var times = times(step * STEP_SECONDS, (step + 1) * STEP_SECONDS);
    var p99 = Latencies.percentile(times, 99);
    var failed = payments.failed.get() - failedBefore;
    failedBefore += failed;
    var done = new Step(rate, times.length / STEP_SECONDS, failed, Latencies.percentile(times, 50), p99);
    steps.add(done);
    say(done.toString());
    if (failed > 0) stopped = failed + " failed";
    else if (p99 > SLOW_MS) stopped = "p99 is over " + SLOW_MS + " ms";
    else knee = rate;
  }

  @Override
  synchronized void conclude() {
    figures.put("steps", steps);
    figures.put("kneePerSecond", knee);
    figures.put("stoppedBecause", stopped == null ? "the last step is reached" : stopped);
    say("knee: " + knee + " payments/s");
  }
}
