package paymentgateway;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.util.Map;

/** Count and exact amount of settled payments, at a processor or in its column of the gateway's ledger. */
record Totals(long requests, BigDecimal amount) {
  static final Totals NONE = new Totals(0, BigDecimal.ZERO.setScale(2));

  /** 19.9 and 19.90 are equal; a third decimal is refused. */
  static Totals of(JsonNode json) {
    return new Totals(
        json.required("totalRequests").longValue(), json.required("totalAmount").decimalValue().setScale(2));
  }

  static long requests(Map<String, Totals> byProcessor) {
    return byProcessor.values().stream().mapToLong(Totals::requests).sum();
  }

  /** At no processor is anything of the other missing. */
  static boolean covers(Map<String, Totals> one, Map<String, Totals> other) {
    return other.entrySet().stream().allMatch(each -> {
      var own = one.getOrDefault(each.getKey(), NONE);
      return own.requests >= each.getValue().requests && own.amount.compareTo(each.getValue().amount) >= 0;
    });
  }
}
