package paymentgateway.rig;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.concurrent.CompletableFuture;

/** One payment processor, through its admin calls (contract.md, what each processor exposes). */
public final class Processor {
  private static final String SUMMARY = "/admin/payments-summary";
  private final EntryPoint entryPoint;
  private final String token;

  Processor(String url, String token, Latencies counted) {
    this.entryPoint = new EntryPoint(url, token, counted);
    this.token = token;
  }

  void prepare() throws IOException {
    entryPoint.call("PUT", "/admin/configurations/token", "{\"token\":\"" + token + "\"}");
    set(0, false);
    entryPoint.call("POST", "/admin/purge-payments", null);
  }

  void set(int delayMs, boolean failing) throws IOException {
    entryPoint.call("PUT", "/admin/configurations/delay", "{\"delay\":" + delayMs + '}');
    entryPoint.call("PUT", "/admin/configurations/failure", "{\"failure\":" + failing + '}');
  }

  Totals totals(Window window) throws IOException {
    return Totals.parse(entryPoint.call("GET", SUMMARY + window.query(), null));
  }

  BigDecimal feePerTransaction() throws IOException {
    String summary = entryPoint.call("GET", SUMMARY + Window.ALL.query(), null);
    return new BigDecimal(Totals.number(summary, "feePerTransaction"));
  }

  CompletableFuture<Totals> ask(Window window) {
    return entryPoint.send("GET", SUMMARY + window.query(), null).thenApply(answer -> Totals.parse(answer.body()));
  }
}
