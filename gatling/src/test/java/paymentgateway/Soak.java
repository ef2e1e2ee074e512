package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.global;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import java.io.IOException;
import java.time.Duration;
import paymentgateway.rig.Load;
import paymentgateway.rig.Outcome;
import paymentgateway.rig.Settings;

/** Few payments for hours, through an outage every minute: does anything creep up? */
public final class Soak extends MeasuredSimulation {
  private static final double SECONDS = Settings.decimal("hours", 1) * 3600;

  public Soak() {
    super(SECONDS, Load.PREVIEW.repeated(SECONDS));
    var rate = Settings.decimal("rate", 50);
    var length = Duration.ofMillis((long) (SECONDS * 1000));
    var load = scenario("payers").exec(payOnce()).injectOpen(constantUsersPerSec(rate).during(length));
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
