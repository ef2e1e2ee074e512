package paymentgateway;

import static io.gatling.javaapi.core.CoreDsl.*;
import static io.gatling.javaapi.http.HttpDsl.*;

import io.gatling.javaapi.core.*;
import io.gatling.javaapi.http.*;
import java.util.concurrent.atomic.AtomicLong;

/** The payment that every load sends, timed from writing it to the end of its answer, as k6 does. */
final class Payments {
  private static final String STARTED = "started";
  final AtomicLong sent = new AtomicLong();
  final AtomicLong accepted = new AtomicLong();
  /** Refused, late, or without any answer. */
  final AtomicLong failed = new AtomicLong();
  final Latencies times = new Latencies();
  private final String url;
  private final String body;

  Payments(String url, String amount) {
    this.url = url + "/payments";
    body = "{\"correlationId\":\"#{randomUuid()}\",\"amount\":" + amount + '}';
  }

  /** Gatling's own warm-up would call a server on the internet. */
  static HttpProtocolBuilder protocol() {
    return http.disableWarmUp().disableCaching().disableFollowRedirect().disableAutoReferer();
  }

  ChainBuilder pay() {
    return exec(this::noteSent).exec(request()).exec(this::noteFailure);
  }

  /** Not in Gatling's report. */
  ChainBuilder paySilently() {
    return exec(this::noteSent).exec(request().silent()).exec(this::noteFailure);
  }

  private HttpRequestActionBuilder request() {
    return http("POST /payments").post(url)
        .header("Content-Type", "application/json")
        .body(StringBody(body))
        .requestTimeout(Load.TIMEOUT)
        .check(status().in(200, 201, 202, 204))
        // The signature is made when the connection is there and the request about to be written.
        .sign((request, session) -> {
          started(session)[0] = System.nanoTime();
          return request;
        })
        .transformResponse((response, session) -> {
          // Only an expected answer counts into the official p99.
          if (response.status().code() / 100 == 2) {
            times.add(started(session)[0]);
            accepted.incrementAndGet();
          }
          return response;
        });
  }

  private Session noteSent(Session session) {
    sent.incrementAndGet();
    return session.set(STARTED, new long[1]);
  }

  private Session noteFailure(Session session) {
    if (session.isFailed()) failed.incrementAndGet();
    return session.markAsSucceeded();
  }

  private static long[] started(Session session) {
    return session.get(STARTED);
  }
}
