package paymentgateway.rig;

import java.io.IOException;

/** Compiles the calls beside the payments before they are timed (see WarmUp). */
public final class WarmCalls {
  private static final int CALLS = 200;

  private WarmCalls() {}

  public static void make(String url) throws IOException {
    var gateway = new Gateway(url, null, new Latencies());
    var processor = new Processor(url, "", new Latencies());
    for (var i = 0; i < CALLS; i++) {
      gateway.summary(Window.ALL);
      processor.set(0, false);
      processor.totals(Window.ALL);
    }
  }
}
