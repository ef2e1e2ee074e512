package paymentgateway.rig;

import java.io.IOException;
import java.math.BigDecimal;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;

/** The gateway and the processors, who must always tell the same story. */
public final class Parties {
  public final Gateway gateway;
  final Map<String, Processor> processors = new TreeMap<>();

  /** @param counted takes the times of the calls as the official loads count them; null counts none. */
  public Parties(Settings settings, Latencies counted) {
    gateway = new Gateway(settings.url, settings.token, counted);
    settings.processors.forEach((name, url) -> processors.put(name, new Processor(url, settings.token, counted)));
  }

  void prepare() throws IOException {
    for (var processor : processors.values()) processor.prepare();
    gateway.purge();
  }

  /** Further processors stay as they were prepared. */
  void set(Stage stage) throws IOException {
    processors.get("default").set(stage.defaultDelayMs(), stage.defaultFailing());
    processors.get("fallback").set(stage.fallbackDelayMs(), stage.fallbackFailing());
  }

  Summary processors(Window window) throws IOException {
    var totals = new TreeMap<String, Totals>();
    for (var one : processors.entrySet()) totals.put(one.getKey(), one.getValue().totals(window));
    return new Summary(totals);
  }

  Map<String, BigDecimal> fees() throws IOException {
    var fees = new TreeMap<String, BigDecimal>();
    for (var one : processors.entrySet()) fees.put(one.getKey(), one.getValue().feePerTransaction());
    return fees;
  }

  /** All processors, at the same moment. */
  CompletableFuture<Summary> ask(Window window) {
    return together(asked(window));
  }

  /** What both sides say when all are asked at the same moment; late or failed is zero, for that one. */
  Answers askAtOnce(Window window) {
    var ledger = gateway.ask(window);
    var stored = asked(window);
    stored.replaceAll((name, totals) -> totals.exceptionally(late -> Totals.NONE));
    return new Answers(ledger.exceptionally(late -> Summary.NONE).join(), together(stored).join());
  }

  /** The two sides of an audit. */
  public record Answers(Summary gateway, Summary processors) {}

  private Map<String, CompletableFuture<Totals>> asked(Window window) {
    var asked = new TreeMap<String, CompletableFuture<Totals>>();
    processors.forEach((name, processor) -> asked.put(name, processor.ask(window)));
    return asked;
  }

  private static CompletableFuture<Summary> together(Map<String, CompletableFuture<Totals>> asked) {
    return CompletableFuture.allOf(asked.values().toArray(CompletableFuture[]::new)).thenApply(all -> {
      var totals = new TreeMap<String, Totals>();
      asked.forEach((name, answer) -> totals.put(name, answer.join()));
      return new Summary(totals);
    });
  }
}
