package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.bodyString;
import static io.gatling.javaapi.core.CoreDsl.constantUsersPerSec;
import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.Session;
import io.gatling.javaapi.http.HttpRequestActionBuilder;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import paymentgateway.rig.Gateway;
import paymentgateway.rig.Latencies;
import paymentgateway.rig.Outcome;
import paymentgateway.rig.Settings;
import paymentgateway.rig.Stage;
import paymentgateway.rig.Summary;
import paymentgateway.rig.Totals;
import paymentgateway.rig.Traffic;
import paymentgateway.rig.Window;

/** An auditor who asks fifty times a second while others pay and processors fail: never wrong, never late. */
public final class Audit extends MeasuredSimulation {
  private static final double SECONDS = Settings.decimal("seconds", Stage.OFFICIAL_SECONDS);
  /** The contract's windows end so long ago: what was sent by then is settled or has been refused. */
  private static final long CLOSED_MS = 1500;
  /** Over 1.5 s a processor itself charges into windows that are closed, and no two answers could agree. */
  private static final int DELAY_MAX_MS = 1000;
  private static final int RANGE_MS = 15_000;
  private final Traffic audits = new Traffic();
  private final AtomicLong compared = new AtomicLong();
  private final AtomicLong wrong = new AtomicLong();

  public Audit() {
    super(SECONDS, Stage.official(SECONDS).stream().map(stage -> stage.withDelayAtMost(DELAY_MAX_MS)).toList());
    var length = Duration.ofMillis((long) (SECONDS * 1000));
    var payers = scenario("payers").exec(payOnce())
        .injectOpen(constantUsersPerSec(Settings.decimal("rate", 200)).during(length));
    var auditors = scenario("auditors").exec(PaymentCalls.ready()).exec(this::chooseWindow).exec(askAll())
        .exec(this::compare)
        .injectOpen(constantUsersPerSec(Settings.decimal("audits", 50)).during(length));
    setUp(warmUpThen(payers, auditors)).protocols(PaymentCalls.protocol().shareConnections());
  }

  private ChainBuilder askAll() {
    var settings = run.settings;
    // A late answer ends the user here: what the others say is not asked for any more.
    var summary = get("GET /payments-summary", settings.url + Gateway.SUMMARY, "gateway");
    return exec(PaymentCalls.timed(audits, summary))
        .exitHereIfFailed()
        .exec(get("default", settings.defaultUrl + "/admin/payments-summary", "default").silent())
        .exec(get("fallback", settings.fallbackUrl + "/admin/payments-summary", "fallback").silent());
  }

  private HttpRequestActionBuilder get(String name, String url, String key) {
    return http(name).get(session -> url + session.getString("query")).header("X-Rinha-Token", run.settings.token)
        .check(status().is(200), bodyString().saveAs(key));
  }

  // Half of them the official window, half at any place and of any length, so that bounds fall everywhere.
  private Session chooseWindow(Session session) {
    audits.noteSent();
    var random = ThreadLocalRandom.current();
    var official = random.nextBoolean();
    var to = Instant.now().minusMillis(CLOSED_MS + (official ? 0 : random.nextInt(RANGE_MS)));
    var from = to.minusMillis(official ? RANGE_MS - CLOSED_MS : random.nextInt(RANGE_MS));
    return session.set("query", new Window(from, to).query());
  }

  private Session compare(Session session) {
    if (session.isFailed()) {
      run.say("a processor did not answer; window " + session.getString("query") + " is not compared");
      return session.markAsSucceeded();
    }
    var gateway = Summary.parse(session.getString("gateway"));
    var processors =
        new Summary(Totals.parse(session.getString("default")), Totals.parse(session.getString("fallback")));
    compared.incrementAndGet();
    if (!gateway.agrees(processors) && wrong.incrementAndGet() <= 10)
      run.say("window " + session.getString("query") + ": gateway " + gateway + ", processors " + processors);
    return session;
  }

  @Override
  protected void conclude(Outcome outcome) throws IOException {
    outcome.addSettled();
    var times = audits.latencies.all();
    var late = audits.sent() - audits.accepted();
    outcome.put("audits", audits.sent());
    outcome.put("auditsCompared", compared.get());
    outcome.put("auditsWrong", wrong.get());
    outcome.put("auditsLate", late);
    outcome.put("auditP99Ms", Math.round(Latencies.percentile(times, 99) * 100) / 100.0);
    outcome.put("auditMaxMs", Math.round(Latencies.percentile(times, 100) * 100) / 100.0);
    if (wrong.get() > 0) run.report(wrong.get() + " of " + compared.get() + " summaries disagree with the processors");
    if (late > 0) run.report(late + " summaries failed or came late");
    if (compared.get() == 0) run.report("no summary was compared");
    demandNoFailure();
  }
}
