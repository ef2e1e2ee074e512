package paymentgateway.rig;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Writes maps, lists, numbers and text as JSON; a library would have to be on the self-test's path too. */
final class Json {
  private Json() {}

  static String write(Object value) {
    return write(value, "\n");
  }

  private static String write(Object value, String newLine) {
    var deeper = newLine + "  ";
    if (value instanceof Map<?, ?> map)
      return map.isEmpty() ? "{}" : map.entrySet().stream()
          .map(entry -> deeper + quote(entry.getKey()) + ": " + write(entry.getValue(), deeper))
          .collect(Collectors.joining(",", "{", newLine + "}"));
    if (value instanceof List<?> list)
      return list.isEmpty() ? "[]" : list.stream()
          .map(item -> deeper + write(item, deeper)).collect(Collectors.joining(",", "[", newLine + "]"));
    return value == null || value instanceof Number || value instanceof Boolean ? String.valueOf(value) : quote(value);
  }

  private static String quote(Object text) {
    return '"' + text.toString().replace("\\", "\\\\").replace("\"", "\\\"").replace("\n", "\\n") + '"';
  }
}
