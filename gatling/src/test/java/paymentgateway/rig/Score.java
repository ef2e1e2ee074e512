package paymentgateway.rig;

import java.math.BigDecimal;
import java.math.RoundingMode;

/** The contract's formulas. */
public record Score(
    BigDecimal p99Ms, BigDecimal gross, BigDecimal fees, BigDecimal net, BigDecimal bonus, BigDecimal penalty,
    BigDecimal score) {
  private static final BigDecimal BONUS_FROM_MS = new BigDecimal("11");
  private static final BigDecimal BONUS_PER_MS = new BigDecimal("0.02");
  private static final BigDecimal PENALTY = new BigDecimal("0.35");

  static Score of(double p99, Summary settled, BigDecimal defaultFee, BigDecimal fallbackFee, long inconsistencies) {
    var p99Ms = BigDecimal.valueOf(p99).setScale(2, RoundingMode.HALF_UP);
    var gross = settled.all().amount();
    var fees = settled.byDefault().amount().multiply(defaultFee)
        .add(settled.byFallback().amount().multiply(fallbackFee));
    var net = gross.subtract(fees);
    var bonus = BONUS_FROM_MS.subtract(p99Ms).multiply(BONUS_PER_MS).setScale(2, RoundingMode.HALF_UP)
        .max(BigDecimal.ZERO);
    var penalty = inconsistencies == 0 ? BigDecimal.ZERO : PENALTY;
    var score = net.multiply(BigDecimal.ONE.add(bonus).subtract(penalty));
    return new Score(p99Ms, cents(gross), cents(fees), cents(net), bonus, penalty, cents(score));
  }

  private static BigDecimal cents(BigDecimal amount) {
    return amount.setScale(2, RoundingMode.HALF_EVEN);
  }
}
