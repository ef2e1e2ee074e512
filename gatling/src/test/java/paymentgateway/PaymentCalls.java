package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.StringBody;
import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.Session;
import io.gatling.javaapi.http.HttpProtocolBuilder;
import io.gatling.javaapi.http.HttpRequestActionBuilder;
import java.math.BigDecimal;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import paymentgateway.rig.Settings;
import paymentgateway.rig.Traffic;

/** The payment that every simulation sends, timed from writing it to the end of the answer, as k6 does. */
final class PaymentCalls {
  private static final String STARTED = "started";

  private PaymentCalls() {}

  /** Gatling's own warm-up would call a server on the internet. */
  static HttpProtocolBuilder protocol() {
    return http.disableWarmUp().disableCaching().disableFollowRedirect().disableAutoReferer();
  }

  /** Once per virtual user, before its first payment. */
  static ChainBuilder ready() {
    return exec(session -> session.set(STARTED, new long[1]));
  }

  static ChainBuilder pay(String url, BigDecimal amount, Traffic traffic) {
    return exec(request(url, amount, traffic)).exec(session -> noteFailure(session, traffic));
  }

  static ChainBuilder paySilently(String url, Traffic traffic) {
    return exec(request(url, BigDecimal.ONE, traffic).silent()).exec(session -> noteFailure(session, traffic));
  }

  private static HttpRequestActionBuilder request(String url, BigDecimal amount, Traffic traffic) {
    return timed(traffic, http("POST /payments").post(url + "/payments")
        .header("Content-Type", "application/json")
        .body(StringBody(session -> body(amount, traffic)))
        .check(status().in(200, 201, 202, 204)));
  }

  static HttpRequestActionBuilder timed(Traffic traffic, HttpRequestActionBuilder call) {
    return call.requestTimeout(Settings.TIMEOUT)
        // The signature is made when the connection is there and the request about to be written.
        .sign((request, session) -> {
          started(session)[0] = System.nanoTime();
          return request;
        })
        .transformResponse((response, session) -> {
          traffic.noteAnswer(started(session)[0], response.status().code());
          return response;
        });
  }

  private static long[] started(Session session) {
    return session.get(STARTED);
  }

  private static String body(BigDecimal amount, Traffic traffic) {
    traffic.noteSent();
    return "{\"correlationId\":\"" + id() + "\",\"amount\":" + amount + '}';
  }

  // UUID.randomUUID asks the system's secure source, under a lock.
  private static UUID id() {
    var random = ThreadLocalRandom.current();
    return new UUID(
        random.nextLong() & 0xFFFFFFFFFFFF0FFFL | 0x4000L, random.nextLong() & 0x3FFFFFFFFFFFFFFFL | 1L << 63);
  }

  static Session noteFailure(Session session, Traffic traffic) {
    if (!session.isFailed()) return session;
    traffic.noteFailure();
    return session.markAsSucceeded();
  }
}
