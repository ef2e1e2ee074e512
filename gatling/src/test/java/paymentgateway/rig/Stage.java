package paymentgateway.rig;

import java.util.List;

/** What the processors do from a second of the load on. */
public record Stage(
    double second, int defaultDelayMs, boolean defaultFailing, int fallbackDelayMs, boolean fallbackFailing) {
  /** The default processor is slow from second 10 to 40 and never fails: what it stores is late. */
  public static List<Stage> slow(int delayMs) {
    return List.of(
        new Stage(1, 0, false, 0, false), new Stage(10, delayMs, false, 0, false), new Stage(40, 0, false, 0, false));
  }

  /** The second in which a table's stage ends, in a run of so many seconds. */
  static double endOf(List<Stage> stages, int index, double length) {
    return index + 1 < stages.size() ? stages.get(index + 1).second : length;
  }

  public Stage at(double when) {
    return new Stage(when, defaultDelayMs, defaultFailing, fallbackDelayMs, fallbackFailing);
  }
}
