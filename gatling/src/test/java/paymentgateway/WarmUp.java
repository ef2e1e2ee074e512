package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.asLongAs;
import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.core.CoreDsl.scenario;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.gatling.javaapi.core.PopulationBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import paymentgateway.rig.Settings;
import paymentgateway.rig.Traffic;

/**
 * Compiles the load generator's code before the clock runs, against a server in this JVM: k6 is native, and an
 * interpreted first second here would be read as the gateway's latency. The gateway itself stays cold.
 */
final class WarmUp {
  private static final int USERS = 8;
  private static final byte[] ANSWER = ("{\"default\":{\"totalRequests\":0,\"totalAmount\":0},"
      + "\"fallback\":{\"totalRequests\":0,\"totalAmount\":0},\"totalRequests\":0,\"totalAmount\":0}")
      .getBytes(StandardCharsets.UTF_8);
  private final ExecutorService threads = Executors.newFixedThreadPool(2);
  private final HttpServer server;
  private final double seconds = Settings.decimal("warmUpSeconds", 5);
  private long deadline;

  WarmUp() {
    // It writes head and body apart; without this each answer waits 40 ms for the acknowledgement of its head.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    try {
      server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    } catch (IOException refused) {
      throw new UncheckedIOException(refused);
    }
    server.setExecutor(threads);
    server.createContext("/", WarmUp::answer);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  PopulationBuilder population() {
    return scenario("warm-up").exec(PaymentCalls.ready())
        .exec(asLongAs(session -> isWarming()).on(exec(PaymentCalls.paySilently(url(), new Traffic()))))
        .injectOpen(atOnceUsers(USERS));
  }

  void stop() {
    server.stop(0);
    threads.shutdownNow();
  }

  private synchronized boolean isWarming() {
    if (deadline == 0) deadline = System.nanoTime() + (long) (seconds * 1e9);
    return System.nanoTime() < deadline;
  }

  private static void answer(HttpExchange exchange) throws IOException {
    exchange.getRequestBody().readAllBytes();
    exchange.sendResponseHeaders(200, ANSWER.length);
    exchange.getResponseBody().write(ANSWER);
    exchange.close();
  }
}
