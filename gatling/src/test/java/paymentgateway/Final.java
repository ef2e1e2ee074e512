package paymentgateway;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/** The five minutes that decided. */
public final class Final extends OfficialLoad {
  private static final List<Stage> STAGES = List.of(
      new Stage(1, 0, false, 0, false),
      new Stage(30, 1000, false, 0, false),
      new Stage(60, 500, false, 0, false),
      new Stage(90, 2000, true, 1000, false),
      new Stage(120, 5000, true, 5, false),
      new Stage(150, 0, false, 5, true),
      new Stage(180, 100, false, 5, false),
      new Stage(210, 50, false, 0, false),
      new Stage(240, 103, false, 10, false),
      new Stage(270, 2000, false, 0, false));

  // The last stage makes `default` slow and goes on to the end, so a few payments may be in flight there.
  public Final() {
    super(300, 603, "20.05", STAGES, Duration.ofSeconds(2), 0.001);
  }

  @Override
  Map<String, Totals> counts(Parties.Answers answers) {
    return answers.processors();
  }
}
