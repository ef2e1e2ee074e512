package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.*;

import io.gatling.javaapi.core.Session;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.*;

/** A load of the challenge (docs/contract.md#the-official-loads). */
abstract class OfficialLoad extends Load {
  private static final double AUDIT_SECONDS = 10;
  private static final double AUDIT_DRIFT_SECONDS = 0.05;
  static final Duration AUDITED_FROM = Duration.ofSeconds(15);
  private final double auditSeconds;
  private final Duration auditedUntil;
  private final double lagMax;
  private final int users;
  private final AtomicInteger done = new AtomicInteger();
  private final AtomicLong inconsistencies = new AtomicLong();

  /** @param lagMax which share of the payments may be unsettled at the end */
  OfficialLoad(
      double whole, int users, String amount, List<Stage> stages, Duration auditedUntil, double lagMax) {
    super(setting("seconds", whole), amount, Stage.scaled(stages, setting("seconds", whole) / whole));
    this.auditSeconds = AUDIT_SECONDS * seconds / whole;
    this.auditedUntil = auditedUntil;
    this.lagMax = lagMax;
    this.users = Integer.getInteger("users", users);

    var payers = scenario("payers")
        .exec(this::begin)
        .asLongAs(session -> second() < seconds).on(payments.pay().pause(Duration.ofSeconds(1)))
        .exec(this::leave);
    // As k6's ramping users: one at once, the others evenly, the last when time is up; all finish their last pause.
    var length = duration(seconds);
    setUp(warmUpThen(payers.injectOpen(
        atOnceUsers(1),
        nothingFor(length.dividedBy(this.users - 1)),
        rampUsers(this.users - 1).during(length))))
        .protocols(Payments.protocol())
        .assertions(global().failedRequests().count().is(0L));
  }

  /** Its auditor sleeps after each answer, so it drifts by its answers' times: into the stages, not before them. */
  @Override
  void conduct() {
    for (var audit = 0; audit * auditSeconds < seconds - auditSeconds / 2; audit++)
      at(audit * (auditSeconds + AUDIT_DRIFT_SECONDS), this::audit);
  }

  private void audit() {
    var second = second();
    var answers = counted.audit(Parties.window(AUDITED_FROM, auditedUntil));
    var found = answers.inconsistencies();
    if (found == 0) return;
    inconsistencies.addAndGet(found);
    say(line("audit of second %.1f: gateway %s, processors %s", second, answers.gateway(), answers.processors()));
  }

  private Session leave(Session session) {
    if (done.incrementAndGet() == users) endSoon();
    return session;
  }

  /** The payments alone, by stage, so that the stub's times stand beside ours: which stage makes the tail? */
  private record StageTimes(double fromSecond, double p50Ms, double p99Ms) {}

  @Override
  final void conclude() {
    figures.put("stages", stages.stream().map(stage -> {
      var times = times(stage.second(), endOf(stage));
      return new StageTimes(stage.second(), Latencies.percentile(times, 50), Latencies.percentile(times, 99));
    }).toList());
    if (BARE) return;
    figures.put("inconsistencies", inconsistencies);
    // Never more settled than was accepted, either.
    if (lag() < 0 || lag() > lagMax * payments.accepted.get()) report("lag " + lag() + " at the end of the load");
    if (inconsistencies.get() > 0) report(inconsistencies + " inconsistencies");
  }
}
