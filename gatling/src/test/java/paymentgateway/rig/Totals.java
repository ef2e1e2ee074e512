package paymentgateway.rig;

import java.math.BigDecimal;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Count and exact amount of settled payments, at one processor or in one column of the gateway's ledger. */
public record Totals(long requests, BigDecimal amount) {
  public static final Totals NONE = new Totals(0, BigDecimal.ZERO);

  /** Reads the two members out of an object's JSON, in whatever order they come. */
  public static Totals parse(String json) {
    return new Totals(Long.parseLong(number(json, "totalRequests")), new BigDecimal(number(json, "totalAmount")));
  }

  static String number(String json, String name) {
    Matcher found = Pattern.compile('"' + name + "\"\\s*:\\s*(-?[0-9.]+(?:[eE][+-]?[0-9]+)?)").matcher(json);
    if (!found.find()) throw new IllegalArgumentException("no " + name + " in " + json);
    return found.group(1);
  }

  /** 19.9 and 19.90 are the same amount. */
  boolean agrees(Totals other) {
    return requests == other.requests && amount.compareTo(other.amount) == 0;
  }

  /** Nothing of the other is missing. */
  boolean covers(Totals other) {
    return requests >= other.requests && amount.compareTo(other.amount) >= 0;
  }

  Totals plus(Totals other) {
    return new Totals(requests + other.requests, amount.add(other.amount));
  }

  @Override
  public String toString() {
    return requests + " payments, " + amount.toPlainString();
  }
}
