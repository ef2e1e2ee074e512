package paymentgateway.rig;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** The gateway under test, through the auditor's two calls. */
public final class Gateway {
  public static final String SUMMARY = "/payments-summary";
  private final Door door;

  Gateway(String url, String token, Latencies counted) {
    this.door = new Door(url, token, counted);
  }

  void purge() throws IOException {
    door.call("POST", "/purge-payments", null);
  }

  Summary summary(Window window) throws IOException {
    return Summary.parse(door.call("GET", SUMMARY + window.query(), null));
  }

  CompletableFuture<Summary> ask(Window window) {
    return door.send("GET", SUMMARY + window.query(), null).thenApply(answer -> Summary.parse(answer.body()));
  }
}
