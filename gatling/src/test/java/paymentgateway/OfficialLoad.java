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
import paymentgateway.rig.Load;
import paymentgateway.rig.Outcome;
import paymentgateway.rig.Settings;

/** A load of the challenge and its score (contract.md): what would the gateway have got? */
abstract class OfficialLoad extends MeasuredSimulation {
  private static final Duration THINK_TIME = Duration.ofSeconds(1);
  private final int users;
  private final AtomicInteger done = new AtomicInteger();

  OfficialLoad(Load load) {
    this(load, Settings.decimal("seconds", load.seconds()));
  }

  private OfficialLoad(Load load, double seconds) {
    super(load, seconds, load.stages(seconds));
    users = Settings.number("users", load.users());
    var payers = scenario("payers").exec(this::begin).exec(PaymentCalls.ready())
        .exec(asLongAs(session -> run.isOpen()).on(pay().pause(THINK_TIME)))
        .exec(this::leave);
    // As k6's ramping users: one at once, the others evenly, the last when time is up; all finish their last pause.
    var length = Duration.ofMillis((long) (seconds * 1000));
    var ramp = payers.injectOpen(
        atOnceUsers(1), nothingFor(length.dividedBy(users - 1)), rampUsers(users - 1).during(length));
    setUp(warmUpThen(ramp)).protocols(PaymentCalls.protocol());
  }

  @Override
  protected Session begin(Session session) {
    if (run.begin()) run.auditEvery(run.load.auditInterval(run.seconds));
    return session;
  }

  private Session leave(Session session) {
    if (done.incrementAndGet() == users) run.endSoon();
    return session;
  }

  @Override
  protected void conclude(Outcome outcome) throws IOException {
    outcome.addStages(run.load.stages(run.seconds));
    outcome.addSettled();
    outcome.addScore(users == run.load.users() && run.seconds == run.load.seconds());
    demandNoFailure();
    outcome.demandFullScore();
  }
}
