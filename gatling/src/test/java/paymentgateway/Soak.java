package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.*;

import java.util.stream.IntStream;

/** Few payments for hours, through an outage every minute: does anything creep up? */
public final class Soak extends Load {
  private static final double SECONDS = setting("hours", 1) * 3600;

  public Soak() {
    // The preview's stages again and again.
    super(SECONDS, Preview.AMOUNT, IntStream.range(0, (int) (SECONDS / Preview.SECONDS)).boxed()
        .flatMap(round -> Preview.STAGES.stream().map(stage -> stage.at(stage.second() + round * Preview.SECONDS)))
        .toList());
    setUp(warmUpThen(scenario("payers").exec(payOnce())
        .injectOpen(constantUsersPerSec(setting("rate", 50)).during(duration(SECONDS)))))
        .protocols(Payments.protocol().shareConnections())
        .assertions(global().failedRequests().count().is(0L));
  }
}
