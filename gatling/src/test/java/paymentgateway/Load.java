package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.exec;

import com.fasterxml.jackson.databind.*;
import io.gatling.javaapi.core.*;
import java.io.*;
import java.nio.file.Path;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

/**
 * What all loads share: empty ledgers first, the stages beside the payments, then figures. eng/load starts a load, and
 * compares the ledgers after it. Gatling's threads pay; everything else happens on the conductor's.
 */
abstract class Load extends Simulation {
  /** The contract's limit for each call, at every entry point. */
  static final Duration TIMEOUT = Duration.ofMillis(1500);
  static final String URL = System.getProperty("url", "http://127.0.0.1:9999");
  static final Map<String, String> PROCESSORS = Arrays.stream(
      System.getProperty("processors", "default=http://127.0.0.1:8001,fallback=http://127.0.0.1:8002").split(","))
      .map(one -> one.split("=", 2)).collect(Collectors.toMap(one -> one[0], one -> one[1]));
  /** Only payments, against what keeps no ledger: no stages, no audits, no check. */
  static final boolean BARE = Boolean.getBoolean("bare");

  final double seconds;
  final Payments payments;
  /** For what an official load would not ask. */
  final Parties uncounted = new Parties(URL, PROCESSORS, null);
  /** In the order of figures.json, whose names are columns of docs/measurements/measurements.csv. */
  final Map<String, Object> figures = new LinkedHashMap<>();
  /** As of the end of the load, where the load counts it. */
  Map<String, Totals> settled = Map.of();
  /** Times of the calls beside the payments: stages and audits, which an official p99 has in it. */
  private final Latencies beside = new Latencies();
  final Parties counted = new Parties(URL, PROCESSORS, beside);
  final List<Stage> stages;
  private final Tables tables = new Tables();
  private final List<String> failures = Collections.synchronizedList(new ArrayList<>());
  private final Path results = Path.of(System.getProperty("results", "target/result"));
  private final WarmUp warmUp = new WarmUp();
  private final AtomicBoolean begun = new AtomicBoolean();
  private final ScheduledExecutorService conductor = Executors.newScheduledThreadPool(4, task -> {
    var thread = new Thread(task, "conductor");
    thread.setDaemon(true);
    return thread;
  });
  private volatile long zeroNanos;
  double elapsed;

  Load(double seconds, String amount, List<Stage> stages) {
    this.seconds = seconds;
    this.stages = stages;
    payments = new Payments(URL, amount);
  }

  static double setting(String name, double otherwise) {
    return Double.parseDouble(System.getProperty(name, Double.toString(otherwise)));
  }

  static Duration duration(double seconds) {
    return Duration.ofMillis((long) (seconds * 1000));
  }

  final PopulationBuilder warmUpThen(PopulationBuilder population) {
    return warmUp.population().andThen(population);
  }

  /** A virtual user pays once and goes: arrivals per second are what is set, however slow the answers. */
  final ChainBuilder payOnce() {
    return exec(this::begin).exec(payments.pay());
  }

  /** The first payment's moment; for all who come later nothing is done. */
  final Session begin(Session session) {
    if (begun.compareAndSet(false, true)) {
      zeroNanos = System.nanoTime();
      say("the load begins");
      // Stages and audits are on the full second or soon after it; what only we want to know comes at other moments.
      every(10, 9.7, this::sayProgress);
      if (BARE) return session;
      every(Math.max(1, seconds / 600), 0.3, this::sampleProcessors);
      for (var stage : stages) at(stage.second(), () -> counted.set(stage));
      conduct();
    }
    return session;
  }

  /** Plans what a load has beside stages and payments. */
  void conduct() {}

  /** Where money and lag are read at the end. */
  Map<String, Totals> counts(Parties.Answers answers) {
    return answers.gateway();
  }

  /** Adds a load's own figures and findings. */
  void conclude() {}

  /** Of the load; to be planned when it begins. */
  final void at(double second, Runnable task) {
    conductor.schedule(() -> guard(task), (long) (second * 1e9), TimeUnit.NANOSECONDS);
  }

  final void every(double interval, double first, Runnable task) {
    conductor.scheduleAtFixedRate(
        () -> guard(task), (long) (first * 1e9), (long) (interval * 1e9), TimeUnit.NANOSECONDS);
  }

  // An exception would silently end a repeated task; the load must know of it, and not be ended by it.
  private void guard(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException failed) {
      if (!conductor.isShutdown()) report(failed.toString());
    }
  }

  final double second() {
    return (System.nanoTime() - zeroNanos) / 1e9;
  }

  /** Of the payments that began in these seconds. */
  final double[] times(double from, double to) {
    return payments.times.between(zeroNanos + (long) (from * 1e9), zeroNanos + (long) (to * 1e9));
  }

  final void report(String failure) {
    failures.add(failure);
    say("WRONG: " + failure);
  }

  static void say(String text) {
    System.out.println("run: " + text);
  }

  // Only the processors are asked: the gateway would pay for the answer with its own latency. One that does not answer
  // is a point less in the picture.
  private void sampleProcessors() {
    var second = second();
    var accepted = payments.accepted.get();
    uncounted.askProcessors(Parties.ALL).thenAccept(stored -> tables.addSettled(second, accepted, stored));
  }

  private void sayProgress() {
    var times = times(second() - 10, second());
    say(line("%4d s: %s accepted, %s failed; the last 10 s: p50 %.2f, p99 %.2f ms", Math.round(second()),
        payments.accepted, payments.failed, Latencies.percentile(times, 50), Latencies.percentile(times, 99)));
  }

  /** The load has ended: take what must be taken at once, off Gatling's threads. Whoever comes second finds it done. */
  final void endSoon() {
    conductor.execute(this::end);
  }

  private synchronized void end() {
    if (elapsed > 0) return;
    elapsed = second();
    // The contract's 70 s and 360 s cover the whole load and some; so does this, however long it is.
    if (!BARE) settled = counts(counted.audit(Parties.window(duration(elapsed + 10), Duration.ZERO)));
    say("the load has ended");
    if (!BARE) guard(() -> uncounted.set(Stage.CALM));
    conductor.shutdownNow();
  }

  @Override
  public void before() {
    warmUp.call();
    if (BARE) return;
    counted.prepare();
    figures.put("feeOf", uncounted.fees());
  }

  @Override
  public void after() {
    end();
    warmUp.stop();
    if (payments.sent.get() == 0) report("nothing was sent");
    addFigures();
    conclude();
    figures.put("failures", failures);
    try {
      tables.write(results, this);
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT)
          .writeValue(results.resolve("figures.json").toFile(), figures);
    } catch (IOException failed) {
      throw new UncheckedIOException(failed);
    }
  }

  private void addFigures() {
    var own = payments.times.all();
    var all = Latencies.merge(own, beside.all());
    figures.put("seconds", Math.round(elapsed * 100) / 100.0);
    figures.put("sent", payments.sent);
    figures.put("accepted", payments.accepted);
    figures.put("failed", payments.failed);
    figures.put("p50Ms", Latencies.percentile(all, 50));
    figures.put("p99Ms", Latencies.percentile(all, 99));
    figures.put("maxMs", Latencies.percentile(all, 100));
    // What is compared with the stub, at which there are no stages and no audits, and with nginx's own times.
    figures.put("paymentP50Ms", Latencies.percentile(own, 50));
    figures.put("paymentP99Ms", Latencies.percentile(own, 99));
    figures.put("paymentP999Ms", Latencies.percentile(own, 99.9));
    figures.put("paymentMaxMs", Latencies.percentile(own, 100));
    if (BARE) return;
    figures.put("settled", settled);
    figures.put("lag", lag());
  }

  final long lag() {
    return payments.accepted.get() - Totals.requests(settled);
  }

  final double endOf(Stage stage) {
    var next = stages.indexOf(stage) + 1;
    return next < stages.size() ? stages.get(next).second() : seconds;
  }

  // Locale.ROOT: a comma for the decimal point would be one column more.
  static String line(String format, Object... values) {
    return String.format(Locale.ROOT, format, values);
  }
}
