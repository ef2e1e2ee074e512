package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.*;

import com.sun.net.httpserver.*;
import io.gatling.javaapi.core.PopulationBuilder;
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.*;

/**
 * Compiles the load generator's code before the clock runs, against a server in this JVM: k6 is native, and an
 * interpreted first second here would be read as the gateway's latency. The gateway itself stays cold.
 */
final class WarmUp {
  /** The gateway's summary, and that of either processor: a payment is at the wrong one. */
  private static final byte[] ANSWER = """
      {"default":{"totalRequests":4,"totalAmount":79.60},"fallback":{"totalRequests":2,"totalAmount":39.80},
       "totalRequests":3,"totalAmount":59.70}""".getBytes(StandardCharsets.UTF_8);
  private final ExecutorService threads = Executors.newFixedThreadPool(2);
  private final HttpServer server;
  private final String url;

  WarmUp() {
    // It writes head and body apart; without this each answer waits 40 ms for the acknowledgement of its head.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException refused) {
      throw new UncheckedIOException(refused);
    }
    url = "http://127.0.0.1:" + server.getAddress().getPort();
    server.setExecutor(threads);
    server.createContext("/", WarmUp::answer);
    server.start();
  }

  /** The calls beside the payments. */
  void call() {
    var parties = new Parties(url, Map.of("default", url, "fallback", url), new Latencies());
    for (var i = 0; i < 200; i++) {
      parties.set(Stage.CALM);
      var found = parties.audit(Parties.ALL).inconsistencies();
      if (found != 2) throw new IllegalStateException("an audit finds " + found + " inconsistencies instead of 2");
    }
  }

  PopulationBuilder population() {
    return scenario("warm-up")
        .during(Load.duration(Load.setting("warmUpSeconds", 5)))
        .on(new Payments(url, "1").paySilently())
        .injectOpen(atOnceUsers(8));
  }

  void stop() {
    server.stop(0);
    threads.shutdownNow();
  }

  private static void answer(HttpExchange exchange) throws IOException {
    exchange.getRequestBody().readAllBytes();
    exchange.sendResponseHeaders(200, ANSWER.length);
    exchange.getResponseBody().write(ANSWER);
    exchange.close();
  }
}
