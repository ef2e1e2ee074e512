package paymentgateway;

import java.time.Duration;
import java.util.List;

/** The minute in which entries were tried. */
public final class Preview extends OfficialLoad {
  static final int SECONDS = 60;
  static final List<Stage> STAGES = List.of(
      new Stage(1, 0, false, 0, false),
      new Stage(10, 100, false, 0, false),
      new Stage(20, 100, true, 0, false),
      new Stage(30, 2000, true, 1000, true),
      new Stage(40, 20, false, 20, false),
      new Stage(50, 0, false, 5000, false));
  static final Duration AUDITED_UNTIL = Duration.ofMillis(1500);
  /** What a load of our own pays, too. */
  static final String AMOUNT = "19.90";

  public Preview() {
    super(SECONDS, 550, AMOUNT, STAGES, AUDITED_UNTIL, 0);
  }
}
