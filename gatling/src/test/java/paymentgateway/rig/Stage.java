package paymentgateway.rig;

import java.util.List;
import java.util.stream.IntStream;

/** What the processors do from a second of the load on. */
public record Stage(
    double second, int defaultDelayMs, boolean defaultFailing, int fallbackDelayMs, boolean fallbackFailing) {
  /** The length of the table below, as the contract gives it. */
  public static final int OFFICIAL_SECONDS = 60;

  private static final List<Stage> OFFICIAL = List.of(
      new Stage(1, 0, false, 0, false),
      new Stage(10, 100, false, 0, false),
      new Stage(20, 100, true, 0, false),
      new Stage(30, 2000, true, 1000, true),
      new Stage(40, 20, false, 20, false),
      new Stage(50, 0, false, 5000, false));

  /** The contract's table again and again, for a run of so many seconds. */
  public static List<Stage> repeated(double seconds) {
    return IntStream.range(0, (int) (seconds / OFFICIAL_SECONDS)).boxed()
        .flatMap(round -> OFFICIAL.stream().map(stage -> stage.at(stage.second + round * OFFICIAL_SECONDS))).toList();
  }

  /** The contract's table, shortened or stretched; the delays stay what they are. */
  public static List<Stage> official(double seconds) {
    return OFFICIAL.stream().map(stage -> stage.at(stage.second * seconds / OFFICIAL_SECONDS)).toList();
  }

  /** The default processor is slow from second 10 to 40 and never fails: what it stores is late. */
  public static List<Stage> slow(int delayMs) {
    return List.of(
        new Stage(1, 0, false, 0, false), new Stage(10, delayMs, false, 0, false), new Stage(40, 0, false, 0, false));
  }

  public Stage at(double when) {
    return new Stage(when, defaultDelayMs, defaultFailing, fallbackDelayMs, fallbackFailing);
  }
}
