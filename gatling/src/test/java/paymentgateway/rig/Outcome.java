package paymentgateway.rig;

import java.io.IOException;
import java.nio.file.Files;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/** A run in figures: the JSON, whose names are the columns of docs/measurements/measurements.csv, and one row. */
public final class Outcome {
  private static final double FLAT_FROM_SECONDS = 600;
  private final Run run;
  private final Map<String, Object> figures = new LinkedHashMap<>();
  private final int[] times;
  private Score score;
  private long lag;

  public Outcome(Run run, String simulation) {
    this.run = run;
    var payments = run.traffic.latencies.all();
    var beside = run.beside.all();
    this.times = Latencies.merge(payments, beside);
    figures.put("simulation", simulation);
    figures.put("date", LocalDate.now(ZoneOffset.UTC).toString());
    figures.put("commit", Settings.text("commit", ""));
    figures.put("mode", mode());
    figures.put("seconds", round(run.elapsed()));
    figures.put("sent", run.traffic.sent());
    figures.put("accepted", run.traffic.accepted());
    figures.put("failed", run.traffic.failed());
    figures.put("p50Ms", round(Latencies.percentile(times, 50)));
    figures.put("p99Ms", round(Latencies.percentile(times, 99)));
    figures.put("maxMs", round(Latencies.percentile(times, 100)));
    // What is compared with the stub, at which there are no stages and no audits.
    figures.put("paymentP99Ms", round(Latencies.percentile(payments, 99)));
    figures.put("callsBeside", beside.length);
    figures.put("besideP50Ms", round(Latencies.percentile(beside, 50)));
    figures.put("besideMaxMs", round(Latencies.percentile(beside, 100)));
  }

  public void put(String name, Object figure) {
    figures.put(name, figure);
  }

  /** The payments alone, by stage, so that the stub's times stand beside ours: which stage makes the tail? */
  public void addStages(List<Stage> stages) {
    var rows = new ArrayList<Object>();
    for (var i = 0; i < stages.size(); i++) {
      var from = stages.get(i).second();
      var times = run.traffic.latencies.between(
          (long) (from * 1000), (long) (Stage.endOf(stages, i, run.seconds) * 1000));
      var row = new LinkedHashMap<String, Object>();
      row.put("fromSecond", round(from));
      row.put("p50Ms", round(Latencies.percentile(times, 50)));
      row.put("p99Ms", round(Latencies.percentile(times, 99)));
      rows.add(row);
    }
    figures.put("stages", rows);
  }

  /** What is settled as of the end of the load, at once. */
  public void addSettled() {
    if (run.settings.bare) return;
    var settled = run.settled();
    lag = run.lag();
    figures.put("settled", settled.all().requests());
    for (var name : run.uncounted.processors.keySet())
      figures.put("settledBy" + name.substring(0, 1).toUpperCase(Locale.ROOT) + name.substring(1),
          settled.of(name).requests());
    figures.put("lag", lag);
  }

  /** The money, and official figures beside it: of the official machine, so the p99 in them is another machine's. */
  public void addScore(boolean official) throws IOException {
    if (run.settings.bare) return;
    score = Score.of(Latencies.percentile(times, 99), run.settled(), run.uncounted.fees(),
        run.inconsistencies.get());
    figures.put("inconsistencies", run.inconsistencies.get());
    figures.put("gross", score.gross());
    figures.put("fees", score.fees());
    figures.put("net", score.net());
    figures.put("bonus", score.bonus());
    figures.put("penalty", score.penalty());
    figures.put("score", score.score());
    figures.put("disqualified", lag < 0);
    figures.put("comparable", official);
    figures.put("scoresToBeat", new TreeMap<>(run.load.scoresToBeat()));
  }

  /** The first and the last five minutes compared, or quarters of a run that is shorter; judged from ten minutes on. */
  public void demandFlatMemory() {
    var span = Math.min(300, run.elapsed() / 4);
    var means = new LinkedHashMap<String, Object>();
    run.memory.firstAndLast(span, run.elapsed())
        .forEach((part, mean) -> means.put(part, List.of(Memory.round(mean[0]), Memory.round(mean[1]))));
    figures.put("memoryMiBFirstAndLast", means);
    // Before that a pool still fills and a heap still finds its size.
    if (run.elapsed() >= FLAT_FROM_SECONDS) run.memory.growth(span, run.elapsed()).forEach(run::report);
  }

  /** Hardly anything left unsettled at the end, never more than was accepted, and no audit that found a difference. */
  public void demandFullScore() {
    if (lag < 0 || lag > run.load.lagMax() * run.traffic.accepted())
      run.report("lag " + lag + " at the end of the load");
    if (run.inconsistencies.get() > 0) run.report(run.inconsistencies.get() + " inconsistencies");
  }

  /** Prints and keeps everything; what is wrong is in it and in the exit status. */
  public void close() throws IOException {
    addMachine();
    figures.put("failures", run.failures());
    var json = Json.write(figures);
    System.out.println(json);
    Files.writeString(run.settings.results.resolve("result.json"), json + '\n');
    Files.writeString(run.settings.results.resolve("row.md"), row() + '\n');
    run.say("row: " + row());
  }

  private void addMachine() {
    if (run.cpuSeconds().isEmpty()) return;
    var cpu = new LinkedHashMap<String, Object>();
    run.cpuSeconds().forEach((part, seconds) -> cpu.put(part, round(seconds)));
    figures.put("cpuSeconds", cpu);
    figures.put("cpuSecondsPer1000", cpuPer1000());
    figures.put("peakMemoryMiB", Memory.round(run.memory.peakMiB()));
    figures.put("peakMemoryMiBByPart", run.memory.peaksMiB());
  }

  private double cpuPer1000() {
    var seconds = run.cpuSeconds().values().stream().mapToDouble(Double::doubleValue).sum();
    return Math.round(seconds * 1e6 / Math.max(1, run.traffic.accepted())) / 1000.0;
  }

  private String row() {
    var measured = !run.cpuSeconds().isEmpty();
    var cells = new ArrayList<>(List.of(
        figures.get("date"), figures.get("commit"), figures.get("simulation") + ", " + figures.get("mode"),
        String.format(Locale.ROOT, "%.2f / %.2f", (Double) figures.get("p50Ms"), (Double) figures.get("p99Ms")),
        run.settings.bare ? "" : lag, score == null ? "" : run.inconsistencies.get(),
        score == null ? "" : score.score(),
        measured ? cpuPer1000() : "", measured ? Math.round(run.memory.peakMiB()) + " MiB" : ""));
    return "| " + String.join(" | ", cells.stream().map(String::valueOf).toList()) + " |";
  }

  private String mode() {
    return Settings.text("mode", run.settings.bare ? "bare" : "");
  }

  public static double round(double value) {
    return Math.round(value * 100) / 100.0;
  }
}
