package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.incrementUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.core.CoreDsl.stopLoadGeneratorIf;

import io.gatling.javaapi.core.Session;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import paymentgateway.rig.Latencies;
import paymentgateway.rig.Outcome;
import paymentgateway.rig.Settings;

/** More and more arrivals per second until the gateway refuses or is slow: where is the knee? */
public final class Saturation extends MeasuredSimulation {
  private static final int FROM = Settings.number("from", 500);
  private static final int STEP = Settings.number("step", 500);
  private static final int STEPS = Settings.number("steps", 20);
  private static final int STEP_SECONDS = Settings.number("stepSeconds", 10);
  private static final double SLOW_MS = Settings.decimal("slowMs", 100);
  private final List<Map<String, Object>> steps = new ArrayList<>();
  private volatile String stopped;
  private int knee;
  private long failedBefore;

  public Saturation() {
    super((double) STEPS * STEP_SECONDS, List.of());
    var stairs = incrementUsersPerSec(STEP).times(STEPS).eachLevelLasting(STEP_SECONDS).startingFrom(FROM);
    var load = scenario("payers").exec(stopLoadGeneratorIf("the knee is passed", session -> stopped != null))
        .exec(payOnce()).injectOpen(stairs);
    setUp(warmUpThen(load)).protocols(PaymentCalls.protocol().shareConnections());
  }

  @Override
  protected Session begin(Session session) {
    if (run.begin())
      for (var i = 0; i < STEPS; i++) {
        var step = i;
        run.at((step + 1) * STEP_SECONDS, () -> measure(step));
      }
    return session;
  }

  // The steps end one after the other, on the conductor's threads.
  private synchronized void measure(int step) {
    if (stopped != null) return;
    var rate = FROM + step * STEP;
    var times = run.traffic.latencies.between(step * STEP_SECONDS * 1000L, (step + 1) * STEP_SECONDS * 1000L);
    var p99 = Latencies.percentile(times, 99);
    var failed = run.traffic.failed() - failedBefore;
    failedBefore += failed;
    var figures = new LinkedHashMap<String, Object>();
    figures.put("perSecond", rate);
    figures.put("acceptedPerSecond", times.length / STEP_SECONDS);
    figures.put("failed", failed);
    figures.put("p50Ms", Math.round(Latencies.percentile(times, 50) * 100) / 100.0);
    figures.put("p99Ms", Math.round(p99 * 100) / 100.0);
    steps.add(figures);
    run.say(String.format(Locale.ROOT, "%6d/s: %d accepted/s, %d failed, p99 %.2f ms", rate,
        times.length / STEP_SECONDS, failed, p99));
    if (failed > 0) stopped = failed + " failed";
    else if (p99 > SLOW_MS) stopped = "p99 is over " + SLOW_MS + " ms";
    else knee = rate;
  }

  @Override
  protected synchronized void conclude(Outcome outcome) throws IOException {
    outcome.addSettled();
    outcome.put("steps", steps);
    outcome.put("kneePerSecond", knee);
    outcome.put("stoppedBecause", stopped == null ? "the last step is reached" : stopped);
    run.say("knee: " + knee + " payments/s");
  }
}
