package paymentgateway.rig;

import java.util.regex.Pattern;

/** The gateway's answer to GET /payments-summary, or what the two processors say for the same window. */
public record Summary(Totals byDefault, Totals byFallback) {
  public static final Summary NONE = new Summary(Totals.NONE, Totals.NONE);

  public static Summary parse(String json) {
    return new Summary(Totals.parse(object(json, "default")), Totals.parse(object(json, "fallback")));
  }

  public Totals all() {
    return byDefault.plus(byFallback);
  }

  public boolean agrees(Summary other) {
    return byDefault.agrees(other.byDefault) && byFallback.agrees(other.byFallback);
  }

  /** At both processors nothing of the other is missing. */
  boolean covers(Summary other) {
    return byDefault.covers(other.byDefault) && byFallback.covers(other.byFallback);
  }

  /**
   * The audit's difference in counts, each processor's by itself, as the final counts. The preview adds both up before
   * it takes the amount, so a payment at the wrong processor cancels out there; here it counts two in either load.
   */
  public long inconsistencies(Summary other) {
    return Math.abs(byDefault.requests() - other.byDefault.requests())
        + Math.abs(byFallback.requests() - other.byFallback.requests());
  }

  @Override
  public String toString() {
    return "default " + byDefault + ", fallback " + byFallback;
  }

  private static String object(String json, String name) {
    var found = Pattern.compile('"' + name + "\"\\s*:\\s*\\{([^}]*)}").matcher(json);
    if (!found.find()) throw new IllegalArgumentException("no " + name + " in " + json);
    return found.group(1);
  }
}
