package paymentgateway;

import java.util.List;

/** What the processors do from a second of the load on; delays in milliseconds. */
record Stage(double second, int defaultDelay, boolean defaultFails, int fallbackDelay, boolean fallbackFails) {
  static final Stage CALM = new Stage(0, 0, false, 0, false);

  /** Shortened or stretched; the delays stay what they are. */
  static List<Stage> scaled(List<Stage> stages, double factor) {
    return stages.stream().map(stage -> stage.at(stage.second * factor)).toList();
  }

  Stage at(double when) {
    return new Stage(when, defaultDelay, defaultFails, fallbackDelay, fallbackFails);
  }
}
