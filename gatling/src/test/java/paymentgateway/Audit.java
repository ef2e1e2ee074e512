package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import io.gatling.javaapi.core.Session;
import java.io.IOException;
import java.time.Duration;
import paymentgateway.rig.AuditStorm;
import paymentgateway.rig.Latencies;
import paymentgateway.rig.Load;
import paymentgateway.rig.Outcome;
import paymentgateway.rig.Settings;
import paymentgateway.rig.Stage;

/** An auditor who asks fifty times a second while others pay and the stage table is played: never wrong, never late. */
public final class Audit extends MeasuredSimulation {
  private static final double SECONDS = Settings.decimal("seconds", Load.PREVIEW.seconds());
  private static final int BEHIND_MAX_MS = 10;
  /** Instead of the preview's table: one in which payments are stored this late. */
  private static final int SLOW_MS = Settings.number("slowMs", 0);
  private final AuditStorm storm = new AuditStorm(run.settings);

  public Audit() {
    super(SECONDS, SLOW_MS > 0 ? Stage.slow(SLOW_MS) : Load.PREVIEW.stages(SECONDS));
    var payers = scenario("payers").exec(payOnce())
        .injectOpen(constantUsersPerSec(Settings.decimal("rate", 200))
            .during(Duration.ofMillis((long) (SECONDS * 1000))));
    setUp(warmUpThen(payers)).protocols(PaymentCalls.protocol().shareConnections());
  }

  @Override
  protected Session begin(Session session) {
    if (run.begin()) storm.begin(run, Settings.decimal("audits", 50));
    return session;
  }

  @Override
  protected void conclude(Outcome outcome) throws IOException {
    outcome.addSettled();
    var times = storm.answerTimes();
    var behind = storm.behind();
    var worst = Latencies.percentile(behind, 100);
    outcome.put("audits", storm.asked());
    outcome.put("auditsDiffering", behind.length);
    outcome.put("auditsFailed", storm.failed());
    outcome.put("ledgerBehindMedianMs", Outcome.round(Latencies.percentile(behind, 50)));
    outcome.put("ledgerBehindMaxMs", Outcome.round(worst));
    outcome.put("auditP99Ms", Outcome.round(Latencies.percentile(times, 99)));
    outcome.put("auditMaxMs", Outcome.round(Latencies.percentile(times, 100)));
    if (storm.invented() > 0) run.report(storm.invented() + " summaries had more than the processors");
    if (worst >= BEHIND_MAX_MS) run.report("the ledger was behind by " + Outcome.round(worst) + " ms");
    if (storm.failed() > 0) run.report(storm.failed() + " questions failed or were answered late");
    if (storm.asked() == 0) run.report("no summary was compared");
    demandNoFailure();
  }
}
