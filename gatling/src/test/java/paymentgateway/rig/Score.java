package paymentgateway.rig;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.LinkedHashMap;
import java.util.Map;

/** The contract's formulas. */
public record Score(
    BigDecimal p99Ms, BigDecimal gross, BigDecimal fees, BigDecimal net, BigDecimal bonus, BigDecimal penalty,
    BigDecimal score) {
  /** Official preview table, 2025-08-09 (contract.md, scores to beat); measured on the official machine. */
  private static final Map<String, Integer> TO_BEAT = new LinkedHashMap<>();

  static {
    TO_BEAT.put("gabxdev-java-1", 380_036);
    TO_BEAT.put("dudebank-bun", 376_914);
    TO_BEAT.put("josineyjr-go-1", 376_869);
    TO_BEAT.put("ccs1201-06-native-pgo", 376_779);
    TO_BEAT.put("micheloliveira-com-dotnet-csharp-postgres", 370_446);
    TO_BEAT.put("alanlviana-dotnet-v1", 367_368);
  }

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

  static Map<String, Integer> toBeat() {
    return TO_BEAT;
  }

  private static BigDecimal cents(BigDecimal amount) {
    return amount.setScale(2, RoundingMode.HALF_EVEN);
  }
}
