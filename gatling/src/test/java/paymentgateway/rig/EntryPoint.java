package paymentgateway.rig;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;

/**
 * Calls beside the payments: stages, audits, summaries. They do not go through Gatling because three of them must
 * leave at the same moment and none may wait for a virtual user; any thread may call.
 */
class EntryPoint {
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Settings.TIMEOUT).build();
  private final String url;
  private final String token;
  private final Latencies counted;

  EntryPoint(String url, String token, Latencies counted) {
    this.url = url;
    this.token = token;
    this.counted = counted;
  }

  /** Timed, because the official p99 is over every call of the run. */
  CompletableFuture<HttpResponse<String>> send(String method, String path, String json) {
    var body = json == null ? BodyPublishers.noBody() : BodyPublishers.ofString(json);
    var request = HttpRequest.newBuilder(URI.create(url + path)).timeout(Settings.TIMEOUT).method(method, body)
        .header("Content-Type", "application/json");
    if (token != null) request.header("X-Rinha-Token", token);
    var started = System.nanoTime();
    return CLIENT.sendAsync(request.build(), BodyHandlers.ofString()).whenComplete((answer, broken) -> {
      if (counted != null && answer != null && answer.statusCode() < 400) counted.add(started, System.nanoTime());
    });
  }

  String call(String method, String path, String json) throws IOException {
    try {
      var answer = send(method, path, json).get();
      if (answer.statusCode() / 100 == 2) return answer.body();
      throw new IOException(method + ' ' + url + path + " answered " + answer.statusCode());
    } catch (ExecutionException broken) {
      throw new IOException(method + ' ' + url + path + ": " + broken.getCause(), broken.getCause());
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IOException(stopped);
    }
  }
}
