package paymentgateway.rig;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** The gateway's answer to GET /payments-summary, or what the processors say for the same window: totals by name. */
public record Summary(Map<String, Totals> byProcessor) {
  public static final Summary NONE = new Summary(Map.of());
  private static final Pattern TOTALS = Pattern.compile("\"(\\w+)\"\\s*:\\s*\\{([^}]*)}");

  public static Summary parse(String json) {
    var byProcessor = new TreeMap<String, Totals>();
    TOTALS.matcher(json).results().forEach(found -> byProcessor.put(found.group(1), Totals.parse(found.group(2))));
    if (byProcessor.isEmpty()) throw new IllegalArgumentException("no processor in " + json);
    return new Summary(byProcessor);
  }

  public Totals all() {
    return byProcessor.values().stream().reduce(Totals.NONE, Totals::plus);
  }

  /** Nothing where there is no such name. */
  public Totals of(String name) {
    return byProcessor.getOrDefault(name, Totals.NONE);
  }

  /** The names of this one and another. */
  Set<String> names(Summary other) {
    var names = new TreeSet<>(byProcessor.keySet());
    names.addAll(other.byProcessor.keySet());
    return names;
  }

  public boolean agrees(Summary other) {
    return names(other).stream().allMatch(name -> of(name).agrees(other.of(name)));
  }

  /** At no processor is anything of the other missing. */
  boolean covers(Summary other) {
    return names(other).stream().allMatch(name -> of(name).covers(other.of(name)));
  }

  /**
   * The audit's difference in counts, each processor's by itself, as the final counts. The preview adds them up before
   * it takes the amount, so a payment at the wrong processor cancels out there; here it counts two in either load.
   */
  public long inconsistencies(Summary other) {
    return names(other).stream().mapToLong(name -> Math.abs(of(name).requests() - other.of(name).requests())).sum();
  }

  @Override
  public String toString() {
    return byProcessor.toString();
  }
}
