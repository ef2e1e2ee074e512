package paymentgateway.rig;

import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;

/** A window of requestedAt, inclusive, in milliseconds as the official script sends it; null bounds are open. */
public record Window(Instant from, Instant to) {
  public static final Window ALL = new Window(null, null);
  private static final DateTimeFormatter ISO =
      DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'").withZone(ZoneOffset.UTC);

  /** From then to then, counted back from now. */
  public static Window last(Duration from, Duration to) {
    var now = Instant.now();
    return new Window(now.minus(from), now.minus(to));
  }

  public String query() {
    return from == null ? "" : "?from=" + ISO.format(from) + "&to=" + ISO.format(to);
  }
}
