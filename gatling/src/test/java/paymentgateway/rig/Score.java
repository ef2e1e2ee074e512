package paymentgateway.rig;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;

/** The contract's formulas. */
public record Score(
    BigDecimal p99Ms, BigDecimal gross, BigDecimal fees, BigDecimal net, BigDecimal bonus, BigDecimal penalty,
    BigDecimal score) {
  private static final BigDecimal BONUS_FROM_MS = new BigDecimal("11");
  private static final BigDecimal BONUS_PER_MS = new BigDecimal("0.02");
  private static final BigDecimal PENALTY = new BigDecimal("0.35");

  static Score of(double p99, Summary settled, Map<String, BigDecimal> fees, long inconsistencies) {
    var p99Ms = BigDecimal.valueOf(p99).setScale(2, RoundingMode.HALF_UP);
    var gross = settled.all().amount();
    var paid = fees.entrySet().stream().map(fee -> settled.of(fee.getKey()).amount().multiply(fee.getValue()))
        .reduce(BigDecimal.ZERO, BigDecimal::add);
    var net = gross.subtract(paid);
    var bonus = BONUS_FROM_MS.subtract(p99Ms).multiply(BONUS_PER_MS).setScale(2, RoundingMode.HALF_UP)
        .max(BigDecimal.ZERO);
    var penalty = inconsistencies == 0 ? BigDecimal.ZERO : PENALTY;
    var score = net.multiply(BigDecimal.ONE.add(bonus).subtract(penalty));
    return new Score(p99Ms, cents(gross), cents(paid), cents(net), bonus, penalty, cents(score));
  }

  private static BigDecimal cents(BigDecimal amount) {
    return amount.setScale(2, RoundingMode.HALF_EVEN);
  }
}
