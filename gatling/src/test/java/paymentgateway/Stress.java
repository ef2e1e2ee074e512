package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.*;

import java.util.List;

/** A multiple of the preview's volume for many minutes: is every payment taken and settled, and is memory flat? */
public final class Stress extends Load {
  /** About 16,750 payments in 60 s. */
  private static final double PREVIEW_PER_SECOND = 16_750 / 60.0;
  private static final double SECONDS = setting("minutes", 20) * 60;

  public Stress() {
    super(SECONDS, Preview.AMOUNT, List.of());
    var rate = setting("multiple", 3) * PREVIEW_PER_SECOND;
    setUp(warmUpThen(scenario("payers").exec(payOnce())
        .injectOpen(constantUsersPerSec(rate).during(duration(SECONDS)))))
        // Clients of such a volume keep their connections; one for each payment would measure the accepting of them.
        .protocols(Payments.protocol().shareConnections())
        .assertions(global().failedRequests().count().is(0L));
  }
}
