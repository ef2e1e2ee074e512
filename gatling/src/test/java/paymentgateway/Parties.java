package paymentgateway;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.*;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.*;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.*;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.concurrent.CompletableFuture;

/**
 * The gateway and the processors, who must always tell the same story. Their calls do not go through Gatling, because
 * those of an audit must leave at the same moment and none may wait for a virtual user. A window is a query.
 */
final class Parties {
  static final String ALL = "";
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Load.TIMEOUT).build();
  private static final ObjectMapper JSON =
      new ObjectMapper().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS);
  private final String gateway;
  /** Their URLs by name. */
  private final Map<String, String> processors;
  private final String token = System.getProperty("token", "123");
  private final Latencies counted;

  /** @param counted takes the calls' times, which an official p99 has in it; null counts none. */
  Parties(String gateway, Map<String, String> processors, Latencies counted) {
    this.gateway = gateway;
    this.processors = new TreeMap<>(processors);
    this.counted = counted;
  }

  /** From then to then, counted back from now. */
  static String window(Duration from, Duration to) {
    var now = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    return "?from=" + now.minus(from) + "&to=" + now.minus(to);
  }

  /** Calm processors, all ledgers empty. */
  void prepare() {
    for (var url : processors.values()) {
      call("PUT", url + "/admin/configurations/token", "{\"token\":\"" + token + "\"}").join();
      set(url, 0, false);
      call("POST", url + "/admin/purge-payments", "").join();
    }
    call("POST", gateway + "/purge-payments", "").join();
  }

  /** Further processors stay as they were prepared. */
  void set(Stage stage) {
    set(processors.get("default"), stage.defaultDelay(), stage.defaultFails());
    set(processors.get("fallback"), stage.fallbackDelay(), stage.fallbackFails());
  }

  private void set(String processor, int delay, boolean fails) {
    call("PUT", processor + "/admin/configurations/delay", "{\"delay\":" + delay + '}').join();
    call("PUT", processor + "/admin/configurations/failure", "{\"failure\":" + fails + '}').join();
  }

  CompletableFuture<Map<String, Totals>> askGateway(String window) {
    return read(gateway + "/payments-summary" + window).thenApply(summary -> {
      var totals = new TreeMap<String, Totals>();
      for (var each : summary.properties())
        if (each.getValue().isObject()) totals.put(each.getKey(), Totals.of(each.getValue()));
      return totals;
    });
  }

  CompletableFuture<Map<String, Totals>> askProcessors(String window) {
    var asked = askEach(window);
    return CompletableFuture.allOf(asked.values().toArray(CompletableFuture[]::new)).thenApply(all -> joined(asked));
  }

  /** What both sides of an audit say. */
  record Answers(Map<String, Totals> gateway, Map<String, Totals> processors) {
    /**
     * The difference in counts, each processor's by itself, as the final counts. The preview adds them up before it
     * takes the amount, so a payment at the wrong processor cancels out there; here it counts two in either load.
     */
    long inconsistencies() {
      return processors.keySet().stream().mapToLong(name ->
          Math.abs(gateway.getOrDefault(name, Totals.NONE).requests() - processors.get(name).requests())).sum();
    }
  }

  /** All are asked at the same moment; who is late or fails has said nothing. */
  Answers audit(String window) {
    var ledger = askGateway(window).exceptionally(late -> Map.of());
    var stored = askEach(window);
    stored.replaceAll((name, answer) -> answer.exceptionally(late -> Totals.NONE));
    return new Answers(ledger.join(), joined(stored));
  }

  /** What each processor takes of an amount. */
  Map<String, JsonNode> fees() {
    var fees = new TreeMap<String, JsonNode>();
    processors.forEach((name, url) -> fees.put(name, summary(url, ALL).join().required("feePerTransaction")));
    return fees;
  }

  private Map<String, CompletableFuture<Totals>> askEach(String window) {
    var asked = new TreeMap<String, CompletableFuture<Totals>>();
    processors.forEach((name, url) -> asked.put(name, summary(url, window).thenApply(Totals::of)));
    return asked;
  }

  private CompletableFuture<JsonNode> summary(String processor, String window) {
    return read(processor + "/admin/payments-summary" + window);
  }

  private static Map<String, Totals> joined(Map<String, CompletableFuture<Totals>> asked) {
    var totals = new TreeMap<String, Totals>();
    asked.forEach((name, answer) -> totals.put(name, answer.join()));
    return totals;
  }

  private CompletableFuture<JsonNode> read(String url) {
    return call("GET", url, "").thenApply(body -> {
      try {
        return JSON.readTree(body);
      } catch (JsonProcessingException other) {
        throw new UncheckedIOException(other);
      }
    });
  }

  /** Anything but a 2xx in time is an exception. */
  private CompletableFuture<String> call(String method, String url, String json) {
    var request = HttpRequest.newBuilder(URI.create(url)).timeout(Load.TIMEOUT)
        .method(method, BodyPublishers.ofString(json))
        .header("Content-Type", "application/json").header("X-Rinha-Token", token).build();
    var started = System.nanoTime();
    return CLIENT.sendAsync(request, BodyHandlers.ofString()).thenApply(answer -> {
      if (answer.statusCode() / 100 != 2)
        throw new IllegalStateException(method + ' ' + url + " answered " + answer.statusCode());
      if (counted != null) counted.add(started);
      return answer.body();
    });
  }
}
