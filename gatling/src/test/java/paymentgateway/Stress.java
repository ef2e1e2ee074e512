package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.global;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import paymentgateway.rig.Load;
import paymentgateway.rig.Outcome;
import paymentgateway.rig.Settings;

/** A multiple of the preview's volume for many minutes: is every payment taken and settled, and is memory flat? */
public final class Stress extends MeasuredSimulation {
  /** About 16,750 payments in 60 s (contract.md, the preview). */
  private static final double PREVIEW_PER_SECOND = 16_750 / 60.0;
  private static final double SECONDS = Settings.decimal("minutes", 20) * 60;

  public Stress() {
    super(SECONDS, Settings.flag("outages", false) ? Load.PREVIEW.repeated(SECONDS) : List.of());
    var rate = Settings.decimal("multiple", 3) * PREVIEW_PER_SECOND;
    var length = Duration.ofMillis((long) (SECONDS * 1000));
    var load = scenario("payers").exec(payOnce()).injectOpen(constantUsersPerSec(rate).during(length));
    // Clients of such a volume keep their connections; one for each payment would measure the accepting of them.
    setUp(warmUpThen(load)).protocols(PaymentCalls.protocol().shareConnections())
        .assertions(global().failedRequests().count().is(0L));
  }

  @Override
  protected void conclude(Outcome outcome) throws IOException {
    outcome.addSettled();
    demandNoFailure();
    outcome.demandFlatMemory();
  }
}
