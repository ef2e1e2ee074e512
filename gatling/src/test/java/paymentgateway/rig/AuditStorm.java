package paymentgateway.rig;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Many audits a second, of the preview's window. Three questions are never answered at the same instant, so a
 * difference is followed up: the ledger is behind for as long as the gateway, asked after the processors have answered,
 * has less than they said; it has invented something when the processors, asked after the gateway has answered, have
 * less than it said.
 */
public final class AuditStorm {
  private static final Duration FROM = Duration.ofSeconds(15);
  /** What was sent by then is settled, or has been refused. */
  private static final Duration CLOSED = Load.PREVIEW.auditedUntil();
  private static final long FOLLOWED_NANOS = 5_000_000_000L;
  private final AtomicLong asked = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final AtomicLong invented = new AtomicLong();
  private final List<Integer> behindMicros = new ArrayList<>();
  private final Latencies latencies = new Latencies();
  private final Gateway gateway;
  private final Parties processors;

  public AuditStorm(Settings settings) {
    gateway = new Gateway(settings.url, settings.token, latencies);
    processors = new Parties(settings, null);
  }

  /** From now to the end of the run; with every second audit goes one of any closed window: bounds fall everywhere. */
  public void begin(Run run, double perSecond) {
    run.every(1 / perSecond, 0, () -> audit(Window.last(FROM, CLOSED)));
    run.every(2 / perSecond, 0, () -> audit(anyClosed()));
  }

  /** Asks all three at once, and does not wait for them. */
  void audit(Window window) {
    asked.incrementAndGet();
    var asked = gateway.ask(window);
    var stored = processors.ask(window);
    watch(asked.thenCombine(stored, (ledger, charged) -> {
      if (!ledger.agrees(charged)) follow(window, ledger, charged);
      return null;
    }));
  }

  public long asked() {
    return asked.get();
  }

  /** Questions without an answer within the contract's 1.5 s. */
  public long failed() {
    return failed.get();
  }

  public long invented() {
    return invented.get();
  }

  /** Times of the gateway's answers, in microseconds. */
  public int[] answerTimes() {
    return latencies.all();
  }

  /** One entry for each audit that differed, in microseconds, sorted; 0 when the next answer would have agreed. */
  public int[] behind() {
    synchronized (behindMicros) {
      return behindMicros.stream().mapToInt(Integer::intValue).sorted().toArray();
    }
  }

  private void follow(Window window, Summary ledger, Summary charged) {
    watch(processors.ask(window).thenAccept(later -> {
      if (!later.covers(ledger)) invented.incrementAndGet();
    }));
    awaitLedger(window, ledger, charged, System.nanoTime());
  }

  private void awaitLedger(Window window, Summary ledger, Summary charged, long since) {
    var passed = System.nanoTime() - since;
    if (!ledger.covers(charged) && passed < FOLLOWED_NANOS) {
      watch(gateway.ask(window).thenAccept(again -> awaitLedger(window, again, charged, since)));
      return;
    }
    synchronized (behindMicros) {
      behindMicros.add((int) (passed / 1000));
    }
  }

  private void watch(CompletableFuture<?> answers) {
    answers.exceptionally(late -> {
      failed.incrementAndGet();
      return null;
    });
  }

  private static Window anyClosed() {
    var random = ThreadLocalRandom.current();
    var to = CLOSED.plusMillis(random.nextInt(15_000));
    return Window.last(to.plusMillis(random.nextInt(15_000)), to);
  }
}
