package paymentgateway.rig;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;

/** Every setting of a run, from -D properties: the one place that knows names and defaults. */
public final class Settings {
  /** The contract's limit for each call, at every entry point. */
  public static final Duration TIMEOUT = Duration.ofMillis(1500);

  public final String url = text("url", "http://127.0.0.1:9999");

  /** URLs by name: -Dprocessors=name=url,name=url, or defaultUrl and fallbackUrl; the stages are about these two. */
  public final Map<String, String> processors = Arrays.stream(text("processors",
      "default=" + text("defaultUrl", "http://127.0.0.1:8001")
          + ",fallback=" + text("fallbackUrl", "http://127.0.0.1:8002")).split(","))
      .map(one -> one.split("=", 2)).collect(Collectors.toMap(one -> one[0], one -> one[1]));

  public final String token = text("token", "123");

  /** Only POSTs, against an entry point that keeps no ledger: no stages, no audits, no check. */
  public final boolean bare = flag("bare", false);

  /** How long accepted payments may take to settle after the load before the ledgers are called wrong. */
  public final Duration settleLimit = Duration.ofSeconds(number("settleSeconds", 60));

  /** Where result.json and the tables for the picture go. */
  public final Path results = Path.of(text("results", "target/result"));

  /** system.env of `make up`: its pids tell whose CPU and memory to measure; empty measures none. */
  public final String systemEnv = text("systemEnv", "");

  public static String text(String name, String otherwise) {
    var value = System.getProperty(name);
    return value == null || value.isBlank() ? otherwise : value;
  }

  public static int number(String name, int otherwise) {
    return Integer.parseInt(text(name, Integer.toString(otherwise)));
  }

  public static double decimal(String name, double otherwise) {
    return Double.parseDouble(text(name, Double.toString(otherwise)));
  }

  public static boolean flag(String name, boolean otherwise) {
    return Boolean.parseBoolean(text(name, Boolean.toString(otherwise)));
  }
}
