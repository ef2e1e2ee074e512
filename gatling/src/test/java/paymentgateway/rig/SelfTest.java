package paymentgateway.rig;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.math.BigDecimal;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.BooleanSupplier;

/** Shows that the check of the ledgers goes red, and that the score is the contract's; needs nothing but the JDK. */
public final class SelfTest {
  private static int failures;
  private static volatile String gateway;
  private static volatile String byDefault;
  private static volatile String byFallback;

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
    audits();
    gateway = "{}";
    expect("an answer that is no summary is wrong", ledger.check(5, 5), 1);
    System.setProperty("url", "http://127.0.0.1:1");
    expect("no answer is wrong", new LedgerCheck(new Parties(new Settings(), null)).check(0, 5), 1);

    score("the ceiling", "0", 16_752, 0, 0, "386370");
    score("gabxdev-java-1", "1.25", 16_752, 0, 0, "380036");
    score("past 11 ms nothing is added", "250", 16_752, 0, 0, "316697");
    score("the dearer fee", "11", 0, 1000, 0, "16915");
    score("an inconsistency costs 35 %", "11", 1000, 0, 1, "12288");
    percentile();
    if (failures > 0) throw new AssertionError(failures + " failed");
    System.out.println("self-test: the ledger check goes red where it must, and the score is the contract's");
    System.exit(0);
  }

  private static void audits() {
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
      String what, String p99, int byDefault, int byFallback, long inconsistencies, String expected) {
    var settled = new Summary(totals(byDefault), totals(byFallback));
    var score = Score.of(
        Double.parseDouble(p99), settled, new BigDecimal("0.05"), new BigDecimal("0.15"), inconsistencies);
    var difference = score.score().subtract(new BigDecimal(expected)).abs();
    check(what, difference.compareTo(BigDecimal.ONE) < 0, score);
  }

  private static void percentile() {
    var times = new int[101];
    for (var i = 0; i <= 100; i++) times[i] = i * 1000;
    check("the percentile is k6's", Latencies.percentile(times, 99) == 99.0
        && Latencies.percentile(new int[] {1000, 2000}, 50) == 1.5, "");
  }

  private static Totals totals(int requests) {
    return new Totals(requests, Settings.AMOUNT.multiply(BigDecimal.valueOf(requests)));
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
      var body = answer.now().getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }
}
