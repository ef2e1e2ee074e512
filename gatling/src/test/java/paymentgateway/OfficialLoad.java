package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.asLongAs;
import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.nothingFor;
import static io.gatling.javaapi.core.CoreDsl.rampUsers;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import io.gatling.javaapi.core.Session;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import paymentgateway.rig.Outcome;
import paymentgateway.rig.Settings;
import paymentgateway.rig.Stage;

/** The challenge's load and its score (contract.md): what would the gateway have got? */
public final class OfficialLoad extends MeasuredSimulation {
  private static final int OFFICIAL_USERS = 550;
  private static final Duration THINK_TIME = Duration.ofSeconds(1);
  private static final double AUDITS = 6;
  private static final double SECONDS = Settings.decimal("seconds", Stage.OFFICIAL_SECONDS);
  // From the second in which both processors are back, in the contract's time, until everything that waited is settled:
  // the gateway tries one that was slow when its next health report says otherwise, up to seven seconds later.
  private static final double RECOVERY = 40, RECOVERED = 50;
  private final int users = Settings.number("users", OFFICIAL_USERS);
  private final AtomicInteger done = new AtomicInteger();

  public OfficialLoad() {
    super(SECONDS, Stage.official(SECONDS));
    var payers = scenario("payers").exec(this::begin).exec(PaymentCalls.ready())
        .exec(asLongAs(session -> run.isOpen())
            .on(PaymentCalls.pay(run.settings.url, run.traffic).pause(THINK_TIME)))
        .exec(this::leave);
    // As k6's ramping users: one at once, the others evenly, the last when time is up; all finish their last pause.
    var length = Duration.ofMillis((long) (SECONDS * 1000));
    var ramp = payers.injectOpen(
        atOnceUsers(1), nothingFor(length.dividedBy(users - 1)), rampUsers(users - 1).during(length));
    setUp(warmUpThen(ramp)).protocols(PaymentCalls.protocol());
  }

  @Override
  protected Session begin(Session session) {
    if (run.begin()) run.auditEvery(SECONDS / AUDITS);
    return session;
  }

  private Session leave(Session session) {
    if (done.incrementAndGet() == users) run.endSoon();
    return session;
  }

  @Override
  protected void conclude(Outcome outcome) throws IOException {
    var second = SECONDS / Stage.OFFICIAL_SECONDS;
    outcome.addRecovery(RECOVERY * second, RECOVERED * second);
    outcome.addSettled();
    outcome.addScore(users == OFFICIAL_USERS && SECONDS == Stage.OFFICIAL_SECONDS);
    demandNoFailure();
    outcome.demandFullScore();
  }
}
