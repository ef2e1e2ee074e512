package paymentgateway.rig;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** The gateway under test, through the auditor's two calls. */
public final class Gateway {
  public static final String SUMMARY = "/payments-summary";
  private final EntryPoint entryPoint;

  Gateway(String url, String token, Latencies counted) {
    this.entryPoint = new EntryPoint(url, token, counted);
  }

  void purge() throws IOException {
    entryPoint.call("POST", "/purge-payments", null);
  }

  Summary summary(Window window) throws IOException {
    return Summary.parse(entryPoint.call("GET", SUMMARY + window.query(), null));
  }

  CompletableFuture<Summary> ask(Window window) {
    return entryPoint.send("GET", SUMMARY + window.query(), null).thenApply(answer -> Summary.parse(answer.body()));
  }
}
