package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.*;

import java.util.Map;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * An auditor who asks fifty times a second while others pay and the stages are played: never wrong, never late. Three
 * questions are never answered at the same instant, so a difference is followed up: the ledger is behind for as long as
 * the gateway, asked after the processors have answered, has less than they said; it has invented something when the
 * processors, asked after the gateway has answered, have less than it said.
 */
public final class Audit extends Load {
  private static final double SECONDS = setting("seconds", Preview.SECONDS);
  private static final int BEHIND_MAX_MS = 10;
  private static final double FOLLOWED_MS = 5000;
  private final AtomicLong asked = new AtomicLong();
  private final AtomicLong late = new AtomicLong();
  private final AtomicLong invented = new AtomicLong();
  /** From the processors' answers to the gateway's that had all of theirs, for each audit that differed. */
  private final Latencies behind = new Latencies();
  private final Latencies answers = new Latencies();
  private final Parties auditor = new Parties(URL, PROCESSORS, answers);

  public Audit() {
    super(SECONDS, Preview.AMOUNT, Stage.scaled(Preview.STAGES, SECONDS / Preview.SECONDS));
    setUp(warmUpThen(scenario("payers").exec(payOnce())
        .injectOpen(constantUsersPerSec(setting("rate", 200)).during(duration(SECONDS)))))
        .protocols(Payments.protocol().shareConnections())
        .assertions(global().failedRequests().count().is(0L));
  }

  /** With every second audit goes one of any closed window: bounds fall everywhere. */
  @Override
  void conduct() {
    var perSecond = setting("audits", 50);
    every(1 / perSecond, 0, () -> audit(Parties.window(Preview.AUDITED_FROM, Preview.AUDITED_UNTIL)));
    every(2 / perSecond, 0, () -> audit(anyClosed()));
  }

  /** What was sent by its end is settled, or has been refused. */
  private static String anyClosed() {
    var random = ThreadLocalRandom.current();
    var to = Preview.AUDITED_UNTIL.plusMillis(random.nextInt(15_000));
    return Parties.window(to.plusMillis(random.nextInt(15_000)), to);
  }

  /** Asks all at once, and does not wait for them. */
  private void audit(String window) {
    asked.incrementAndGet();
    watch(auditor.askGateway(window).thenCombine(uncounted.askProcessors(window), (ledger, charged) -> {
      if (!ledger.equals(charged)) follow(window, ledger, charged);
      return null;
    }));
  }

  private void follow(String window, Map<String, Totals> ledger, Map<String, Totals> charged) {
    watch(uncounted.askProcessors(window).thenAccept(later -> {
      if (!Totals.covers(later, ledger)) invented.incrementAndGet();
    }));
    awaitLedger(window, ledger, charged, System.nanoTime());
  }

  private void awaitLedger(String window, Map<String, Totals> ledger, Map<String, Totals> charged, long since) {
    if (Totals.covers(ledger, charged) || System.nanoTime() - since >= FOLLOWED_MS * 1e6) behind.add(since);
    else watch(auditor.askGateway(window).thenAccept(again -> awaitLedger(window, again, charged, since)));
  }

  private void watch(CompletableFuture<?> question) {
    question.exceptionally(broken -> {
      late.incrementAndGet();
      return null;
    });
  }

  @Override
  void conclude() {
    // Until the last questions are answered, or late.
    LockSupport.parkNanos(TIMEOUT.toNanos());
    var differing = behind.all();
    var worst = Latencies.percentile(differing, 100);
    figures.put("audits", asked);
    figures.put("auditsDiffering", differing.length);
    figures.put("auditsFailed", late);
    figures.put("ledgerBehindMedianMs", Latencies.percentile(differing, 50));
    figures.put("ledgerBehindMaxMs", worst);
    figures.put("auditP99Ms", Latencies.percentile(answers.all(), 99));
    figures.put("auditMaxMs", Latencies.percentile(answers.all(), 100));
    if (asked.get() == 0) report("no summary was compared");
    if (invented.get() > 0) report(invented + " summaries had more than the processors");
    if (worst >= BEHIND_MAX_MS) report("the ledger was behind by " + worst + " ms");
    if (late.get() > 0) report(late + " questions failed or were answered late");
  }
}
