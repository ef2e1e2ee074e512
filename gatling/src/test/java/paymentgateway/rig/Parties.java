package paymentgateway.rig;

import java.io.IOException;
import java.util.concurrent.CompletableFuture;

/** The gateway and both processors, who must always tell the same story. */
public final class Parties {
  public final Gateway gateway;
  public final Processor byDefault;
  public final Processor byFallback;

  /** @param counted takes the times of the calls as the official loads count them; null counts none. */
  public Parties(Settings settings, Latencies counted) {
    gateway = new Gateway(settings.url, settings.token, counted);
    byDefault = new Processor(settings.defaultUrl, settings.token, counted);
    byFallback = new Processor(settings.fallbackUrl, settings.token, counted);
  }

  void prepare() throws IOException {
    byDefault.prepare();
    byFallback.prepare();
    gateway.purge();
  }

  void set(Stage stage) throws IOException {
    byDefault.set(stage.defaultDelayMs(), stage.defaultFailing());
    byFallback.set(stage.fallbackDelayMs(), stage.fallbackFailing());
  }

  Summary processors(Window window) throws IOException {
    return new Summary(byDefault.totals(window), byFallback.totals(window));
  }

  /** Both processors, at the same moment. */
  CompletableFuture<Summary> ask(Window window) {
    return byDefault.ask(window).thenCombine(byFallback.ask(window), Summary::new);
  }

  /** What both sides say when all three are asked at the same moment; late or failed is zero, for that one. */
  Answers askAtOnce(Window window) {
    var ledger = gateway.ask(window);
    var atDefault = byDefault.ask(window);
    var atFallback = byFallback.ask(window);
    return new Answers(
        orZero(ledger, Summary.NONE), new Summary(orZero(atDefault, Totals.NONE), orZero(atFallback, Totals.NONE)));
  }

  /** The two sides of an audit. */
  public record Answers(Summary gateway, Summary processors) {}

  private static <T> T orZero(CompletableFuture<T> asked, T zero) {
    return asked.exceptionally(late -> zero).join();
  }
}
