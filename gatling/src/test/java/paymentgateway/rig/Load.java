package paymentgateway.rig;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;

/**
 * An official load as data (contract.md, the official loads). The last three say how it is counted: where money and lag
 * are read at the end, which share of the payments may lag, and the official table's scores.
 */
public record Load(
    int seconds, int users, BigDecimal amount, List<Stage> stages, Duration auditedUntil,
    Function<Parties.Answers, Summary> countedAt, double lagMax, Map<String, Integer> scoresToBeat) {
  public static final Load PREVIEW = new Load(60, 550, new BigDecimal("19.90"),
      List.of(
          new Stage(1, 0, false, 0, false),
          new Stage(10, 100, false, 0, false),
          new Stage(20, 100, true, 0, false),
          new Stage(30, 2000, true, 1000, true),
          new Stage(40, 20, false, 20, false),
          new Stage(50, 0, false, 5000, false)),
      Duration.ofMillis(1500), Parties.Answers::gateway, 0,
      // 2025-08-09, measured on the official machine.
      Map.of(
          "gabxdev-java-1", 380_036, "dudebank-bun", 376_914, "josineyjr-go-1", 376_869,
          "ccs1201-06-native-pgo", 376_779, "micheloliveira-com-dotnet-csharp-postgres", 370_446,
          "alanlviana-dotnet-v1", 367_368));

  // The last stage makes `default` slow and goes on to the end, so a few payments may be in flight there.
  public static final Load FINAL = new Load(300, 603, new BigDecimal("20.05"),
      List.of(
          new Stage(1, 0, false, 0, false),
          new Stage(30, 1000, false, 0, false),
          new Stage(60, 500, false, 0, false),
          new Stage(90, 2000, true, 1000, false),
          new Stage(120, 5000, true, 5, false),
          new Stage(150, 0, false, 5, true),
          new Stage(180, 100, false, 5, false),
          new Stage(210, 50, false, 0, false),
          new Stage(240, 103, false, 10, false),
          new Stage(270, 2000, false, 0, false)),
      Duration.ofSeconds(2), Parties.Answers::processors, 0.001,
      // 2025-08-20 and 21, measured on the official machine.
      Map.of(
          "ricassiocosta-node", 1_949_876, "lucas-laurentino-go", 1_935_736, "marcelo-dias", 1_923_913,
          "danilosantana-dotnet", 1_922_071, "david-delta-sierra-go", 1_599_622));

  private static final double AUDIT_SECONDS = 10;

  /** The table, shortened or stretched to so many seconds; the delays stay what they are. */
  public List<Stage> stages(double length) {
    return stages.stream().map(stage -> stage.at(stage.second() * length / seconds)).toList();
  }

  /** The table again and again, for a run of so many seconds. */
  public List<Stage> repeated(double length) {
    return IntStream.range(0, (int) (length / seconds)).boxed()
        .flatMap(round -> stages.stream().map(stage -> stage.at(stage.second() + round * seconds))).toList();
  }

  /** Seconds between two audits in a run of so many seconds. */
  public double auditInterval(double length) {
    return AUDIT_SECONDS * length / seconds;
  }
}
