package paymentgateway.rig;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * One run beside its payments: drives the stages, audits, samples, and compares the ledgers. Gatling's threads call
 * begin, isOpen and the traffic; everything else happens on the conductor's.
 */
public final class Run {
  private static final int METER_SECONDS = 10;
  private static final int PROGRESS_SECONDS = 10;
  private static final double AUDIT_DRIFT_SECONDS = 0.05;
  private static final Duration AUDITED_FROM = Duration.ofSeconds(15);
  /** A call that was given up may be charged so much later: the longest delay of a stage, and some. */
  private static final Duration AFTERMATH = Duration.ofSeconds(6);

  public final Settings settings = new Settings();
  public final Traffic traffic = new Traffic();
  public final Load load;
  public final double seconds;
  /** Times of the calls beside the payments: stages and audits, which an official p99 has in it. */
  final Latencies beside = new Latencies();
  final Parties counted = new Parties(settings, beside);
  /** For what an official load would not ask: samples, and the ledgers afterwards. */
  public final Parties uncounted = new Parties(settings, null);
  final Memory memory = new Memory();
  final AtomicLong inconsistencies = new AtomicLong();
  private final List<String> wrong = new ArrayList<>();
  private final List<Stage> stages;
  private final Tables tables = new Tables();
  private final SystemMeter meter = new SystemMeter(settings);
  private final AtomicBoolean begun = new AtomicBoolean();
  private final ScheduledExecutorService conductor = Executors.newScheduledThreadPool(4, task -> {
    var thread = new Thread(task, "conductor");
    thread.setDaemon(true);
    return thread;
  });
  private volatile long zeroNanos;
  private volatile Map<String, Double> cpuBefore = Map.of();
  private Map<String, Double> cpu = Map.of();
  private double elapsed;
  private Summary settled;

  public Run(Load load, double seconds, List<Stage> stages) {
    this.load = load;
    this.seconds = seconds;
    this.stages = settings.bare ? List.of() : stages;
  }

  /** Before the load: processors calm, all ledgers empty. */
  public void prepare() throws IOException {
    if (!settings.bare) counted.prepare();
  }

  /** The first payment's moment. @return false to all who come later, for whom nothing is done */
  public boolean begin() {
    if (!begun.compareAndSet(false, true)) return false;
    zeroNanos = System.nanoTime();
    traffic.latencies.startAt(zeroNanos);
    beside.startAt(zeroNanos);
    conductor.execute(() -> cpuBefore = meter.cpuSeconds());
    // Stages and audits are on the full second or soon after it; what only we want to know comes at moments of its own.
    // A sample of memory stops what it measures, and more of it at the gateway than at the stub: none while it
    // recovers.
    every(METER_SECONDS, 9.25, () -> memory.add(second(), meter.pssKiB()));
    every(PROGRESS_SECONDS, PROGRESS_SECONDS - 0.3, this::sayProgress);
    if (!settings.bare) every(Math.max(1, seconds / 600), 0.3, this::sampleProcessors);
    for (var stage : stages) at(stage.second(), () -> apply(stage));
    return true;
  }

  /**
   * The official audit, every so many seconds from the start on. Its auditor sleeps after each answer, so it drifts by
   * its answers' times: into the stages, not before them.
   */
  public void auditEvery(double interval) {
    if (settings.bare) return;
    for (var audit = 0; audit * interval < seconds - interval / 2; audit++)
      at(audit * (interval + AUDIT_DRIFT_SECONDS), this::audit);
  }

  public boolean isOpen() {
    return second() < seconds;
  }

  public double second() {
    return (System.nanoTime() - zeroNanos) / 1e9;
  }

  /** The load has ended: take what must be taken at once. Whoever comes second finds it done. */
  public synchronized void end() {
    if (elapsed > 0) return;
    elapsed = second();
    if (!settings.bare) settled = load.countedAt().apply(counted.askAtOnce(lastWindow()));
    conductor.shutdownNow();
    cpu = used(meter.cpuSeconds());
    memory.add(elapsed, meter.pssKiB());
  }

  /** end(), off Gatling's threads: it waits for answers. */
  public void endSoon() {
    conductor.execute(this::end);
  }

  /** Calm processors, everything settled, ledgers compared; then the tables for the picture. */
  public void compareLedgers() throws IOException, InterruptedException {
    end();
    // What comes after the load's last second is the final summary only.
    tables.write(settings.results, traffic.latencies, stages, Math.min(elapsed, seconds));
    if (traffic.sent() == 0) report("nothing was sent");
    if (settings.bare) return;
    uncounted.set(new Stage(0, 0, false, 0, false));
    var ledger = new LedgerCheck(uncounted);
    ledger.awaitSettled(traffic.accepted(), settings.settleLimit);
    Thread.sleep(AFTERMATH.toMillis());
    ledger.check(traffic.accepted(), traffic.sent()).forEach(this::report);
  }

  public void report(String failure) {
    synchronized (wrong) {
      wrong.add(failure);
    }
    say("WRONG: " + failure);
  }

  List<String> failures() {
    synchronized (wrong) {
      return List.copyOf(wrong);
    }
  }

  public boolean hasFailed() {
    return !failures().isEmpty();
  }

  /** As of the end of the load, where the load counts it. */
  Summary settled() {
    return settled;
  }

  long lag() {
    return traffic.accepted() - settled.all().requests();
  }

  Map<String, Double> cpuSeconds() {
    return cpu;
  }

  double elapsed() {
    return elapsed;
  }

  public void say(String text) {
    System.out.println("run: " + text);
  }

  public void at(double second, Runnable task) {
    var wait = (long) (second * 1e9) - (System.nanoTime() - zeroNanos);
    conductor.schedule(guarded(task), Math.max(0, wait), TimeUnit.NANOSECONDS);
  }

  void every(double interval, double first, Runnable task) {
    conductor.scheduleAtFixedRate(
        guarded(task), (long) (first * 1000), (long) (interval * 1000), TimeUnit.MILLISECONDS);
  }

  // An exception would silently end a repeated task; the run must know of it, and not be ended by it.
  private Runnable guarded(Runnable task) {
    return () -> {
      try {
        task.run();
      } catch (RuntimeException failed) {
        if (!conductor.isShutdown()) report(failed.toString());
      }
    };
  }

  private void apply(Stage stage) {
    try {
      counted.set(stage);
    } catch (IOException failed) {
      if (!conductor.isShutdown()) report("stage of second " + stage.second() + ": " + failed.getMessage());
    }
  }

  void audit() {
    var second = second();
    var answers = counted.askAtOnce(Window.last(AUDITED_FROM, load.auditedUntil()));
    var found = answers.gateway().inconsistencies(answers.processors());
    if (found == 0) return;
    inconsistencies.addAndGet(found);
    say(String.format(Locale.ROOT, "audit of second %.1f: gateway %s, processors %s", second, answers.gateway(),
        answers.processors()));
  }

  // Only the processors are asked: the gateway would pay for the answer with its own latency.
  private void sampleProcessors() {
    try {
      var second = second();
      var accepted = traffic.accepted();
      var settled = uncounted.processors(Window.ALL);
      tables.add(new Tables.Settled(second, accepted, settled));
    } catch (IOException missed) {
      // One point less in the picture.
    }
  }

  private void sayProgress() {
    var now = (long) (second() * 1000);
    var times = traffic.latencies.between(now - PROGRESS_SECONDS * 1000L, now);
    say(String.format(Locale.ROOT, "%4d s: %d accepted, %d failed; the last %d s: p50 %.2f, p99 %.2f ms",
        Math.round(now / 1000.0),
        traffic.accepted(), traffic.failed(), PROGRESS_SECONDS, Latencies.percentile(times, 50),
        Latencies.percentile(times, 99)));
  }

  // The contract's 70 s and 360 s cover the whole load and some; so does this, however long the run is.
  private Window lastWindow() {
    return Window.last(Duration.ofMillis((long) (elapsed * 1000) + 10_000), Duration.ZERO);
  }

  private Map<String, Double> used(Map<String, Double> after) {
    var used = new java.util.LinkedHashMap<String, Double>();
    after.forEach((part, now) -> used.put(part, now - cpuBefore.getOrDefault(part, 0.0)));
    return used;
  }
}
