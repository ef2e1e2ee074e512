package paymentgateway.rig;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/** Shows that the check of the ledgers goes red, and that both loads count as the contract does; needs only the JDK. */
public final class SelfTest {
  private static int failures;
  private static volatile String gateway;
  private static volatile String byDefault;
  private static volatile String byFallback;
  private static volatile String query;

  private SelfTest() {}

  public static void main(String[] arguments) throws IOException {
    System.setProperty("url", serve("/payments-summary", () -> gateway));
    System.setProperty("defaultUrl", serve("/admin/payments-summary", () -> byDefault));
    System.setProperty("fallbackUrl", serve("/admin/payments-summary", () -> byFallback));
    var ledger = new LedgerCheck(new Parties(new Settings(), null));

    tell(3, "59.70", 2, "39.8", 3, "59.7", 2, "39.80");
    expect("ledgers that agree are right, whatever their zeros", ledger.check(5, 5), 0);
    expect("a payment accepted and not settled is wrong", ledger.check(6, 6), 1);
    expect("an unanswered payment may be settled", ledger.check(4, 5), 0);
    expect("more than was sent is wrong", ledger.check(4, 4), 1);
    tell(3, "59.70", 2, "39.80", 3, "59.71", 2, "39.80");
    expect("one cent too much at default is wrong", ledger.check(5, 5), 1);
    tell(3, "59.70", 2, "39.80", 3, "59.70", 2, "39.79");
    expect("one cent too little at fallback is wrong", ledger.check(5, 5), 1);
    tell(3, "59.70", 2, "39.80", 4, "59.70", 2, "39.80");
    expect("one payment too many at default is wrong", ledger.check(5, 5), 1);
    tell(3, "59.70", 2, "39.80", 2, "39.80", 3, "59.70");
    expect("the right sum at the wrong processors is wrong", ledger.check(5, 5), 2);
    tell(3, "999999999999.99", 2, "39.80", 3, "999999999999.98", 2, "39.80");
    expect("one cent in a thousand billions is wrong", ledger.check(5, 5), 1);
    third();
    storm();
    counting();
    gateway = "{}";
    expect("an answer that is no summary is wrong", ledger.check(5, 5), 1);
    System.setProperty("url", "http://127.0.0.1:1");
    expect("no answer is wrong", new LedgerCheck(new Parties(new Settings(), null)).check(0, 5), 1);

    previewScores();
    finalScores();
    percentile();
    if (failures == 0)
      System.out.println("self-test: a wrong ledger is red, and both loads count as the contract does");
    // An exception would end the main thread only, and the servers' threads would keep the JVM.
    System.exit(failures == 0 ? 0 : 1);
  }

  private static void third() throws IOException {
    tell(3, "59.70", 2, "39.80", 3, "59.70", 2, "39.80");
    var two = gateway.substring(0, gateway.length() - 1);
    var third = new String[] {own(1, "19.90")};
    System.setProperty("processors", "default=" + System.getProperty("defaultUrl") + ",fallback="
        + System.getProperty("fallbackUrl") + ",third=" + serve("/admin/payments-summary", () -> third[0]));
    var ledger = new LedgerCheck(new Parties(new Settings(), null));
    System.clearProperty("processors");
    expect("a processor that the gateway does not name is wrong", ledger.check(5, 5), 1);
    gateway = two + ",\"third\":" + own(1, "19.9") + '}';
    expect("three processors that agree are right", ledger.check(6, 6), 0);
    expect("a payment at the third counts as sent", ledger.check(5, 5), 1);
    third[0] = own(1, "19.91");
    expect("one cent too much at the third is wrong", ledger.check(6, 6), 1);
  }

  private static void storm() {
    var storm = new AuditStorm(new Settings());
    tell(3, "59.70", 2, "39.80", 3, "59.7", 2, "39.80");
    storm.audit(Window.ALL);
    await(() -> storm.answerTimes().length == 1);
    check("answers that agree are no difference", storm.behind().length == 0, storm.behind().length);
    tell(2, "39.80", 2, "39.80", 3, "59.70", 2, "39.80");
    storm.audit(Window.ALL);
    await(() -> storm.answerTimes().length > 5);
    check("a ledger that is behind is asked again", storm.behind().length == 0, storm.behind().length);
    tell(3, "59.70", 2, "39.80", 3, "59.70", 2, "39.80");
    await(() -> storm.behind().length == 1);
    check("it was behind until it agreed", storm.behind()[0] > 0 && storm.invented() == 0, storm.behind()[0]);
    tell(4, "79.60", 2, "39.80", 3, "59.70", 2, "39.80");
    storm.audit(Window.ALL);
    await(() -> storm.invented() == 1);
    check("a ledger with more than the processors is wrong", storm.failed() == 0, storm.failed());
  }

  /** Six were accepted, the gateway has five of them, and the processors have four. */
  private static void counting() {
    tell(4, "79.60", 1, "19.90", 2, "39.80", 2, "39.80");
    counting("preview", Load.PREVIEW, 1, 13_500);
    counting("final", Load.FINAL, 2, 13_000);
  }

  private static void counting(String name, Load load, long lag, long auditedMs) {
    var run = new Run(load, load.seconds(), List.of());
    for (var i = 0; i < 6; i++) run.traffic.noteAnswer(System.nanoTime(), 202);
    run.audit();
    var bounds = query.replaceAll("from=|to=", "").split("&");
    var window = Duration.between(Instant.parse(bounds[0]), Instant.parse(bounds[1])).toMillis();
    run.end();
    // The preview itself would count 1 here, |2 - 1|; ours is stricter in it (Summary.inconsistencies).
    check("the " + name + "'s audit adds what differs at each processor", run.inconsistencies.get() == 3,
        run.inconsistencies);
    check("the " + name + "'s audit has its window", window == auditedMs, window);
    check("the " + name + "'s audit comes every 10 s", load.auditInterval(load.seconds()) == 10, load);
    check("the " + name + "'s lag is counted where its money is", run.lag() == lag, run.lag());
  }

  private static void previewScores() {
    var fees = Map.of("default", new BigDecimal("0.05"), "fallback", new BigDecimal("0.15"));
    score("the preview's ceiling", Load.PREVIEW, fees, "0", 16_752, 0, 0, "386370");
    score("gabxdev-java-1", Load.PREVIEW, fees, "1.25", 16_752, 0, 0, "380036");
    score("past 11 ms nothing is added", Load.PREVIEW, fees, "250", 16_752, 0, 0, "316697");
    score("the dearer fee", Load.PREVIEW, fees, "11", 0, 1000, 0, "16915");
    score("an inconsistency costs 35 %", Load.PREVIEW, fees, "11", 1000, 0, 1, "12288");
  }

  private static void finalScores() {
    var fees = Map.of("default", new BigDecimal("0.07"), "fallback", new BigDecimal("0.10"));
    // Its net is 1,666,561 with 42 % on `fallback`: of 90,600 payments that is this split and no other.
    score("ricassiocosta-node and its fees", Load.FINAL, fees, "2.55", 52_675, 37_925, 0, "1949876");
    score("the final's ceiling", Load.FINAL, fees, "0", 90_600, 0, 0, "2061035");
    published("ricassiocosta-node", "1666561", "2.55");
    published("lucas-laurentino-go", "1640454", "2.18");
    published("marcelo-dias", "1644370", "2.42");
    published("danilosantana-dotnet", "1642796", "2.53");
    published("david-delta-sierra-go", "1367199", "2.43");
  }

  private static void published(String entry, String net, String p99) {
    var settled = new Summary(Map.of("default", new Totals(1, new BigDecimal(net))));
    near(entry, Score.of(Double.parseDouble(p99), settled, Map.of(), 0),
        Load.FINAL.scoresToBeat().get(entry).toString());
  }

  private static void await(BooleanSupplier condition) {
    var end = System.nanoTime() + 10_000_000_000L;
    while (!condition.getAsBoolean() && System.nanoTime() < end) Thread.onSpinWait();
  }

  private static void tell(
      int default1, String amount1, int fallback1, String amount2, int default2, String amount3, int fallback2,
      String amount4) {
    gateway = "{\"default\":{\"totalRequests\":" + default1 + ",\"totalAmount\":" + amount1 + "},\"fallback\":"
        + "{\"totalAmount\":" + amount2 + ",\"totalRequests\":" + fallback1 + "}}";
    byDefault = own(default2, amount3);
    byFallback = own(fallback2, amount4);
  }

  private static String own(int requests, String amount) {
    return "{\"totalRequests\":" + requests + ",\"totalAmount\":" + amount
        + ",\"totalFee\":1,\"feePerTransaction\":0.05}";
  }

  private static void expect(String what, List<String> wrong, int count) {
    check(what, wrong.size() == count, wrong);
  }

  private static void score(
      String what, Load load, Map<String, BigDecimal> fees, String p99, int byDefault, int byFallback,
      long inconsistencies, String expected) {
    var settled = new Summary(Map.of("default", totals(load, byDefault), "fallback", totals(load, byFallback)));
    near(what, Score.of(Double.parseDouble(p99), settled, fees, inconsistencies), expected);
  }

  private static void near(String what, Score score, String expected) {
    var difference = score.score().subtract(new BigDecimal(expected)).abs();
    check(what, difference.compareTo(BigDecimal.ONE) < 0, score);
  }

  private static void percentile() {
    var times = new int[101];
    for (var i = 0; i <= 100; i++) times[i] = i * 1000;
    check("the percentile is k6's", Latencies.percentile(times, 99) == 99.0
        && Latencies.percentile(new int[] {1000, 2000}, 50) == 1.5, "");
  }

  private static Totals totals(Load load, int requests) {
    return new Totals(requests, load.amount().multiply(BigDecimal.valueOf(requests)));
  }

  private static void check(String what, boolean right, Object found) {
    if (right) return;
    failures++;
    System.out.println("self-test FAILED: " + what + "; found " + found);
  }

  private interface Answer {
    String now();
  }

  private static String serve(String path, Answer answer) throws IOException {
    var server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(path, exchange -> {
      query = exchange.getRequestURI().getQuery();
      var body = answer.now().getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }
}
