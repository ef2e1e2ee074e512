using System.CommandLine;
using System.Text.Encodings.Web;
using PaymentGateway.Hosting.Telemetry;

namespace PaymentGateway.Cli;

/// <summary>The findings of a verb: an object has a line for each member, an array a row for each.</summary>
/// <param name="Content">As the gateway answered it, so that members that it adds later are shown too.</param>
/// <param name="Note">A line for standard error.</param>
internal sealed record Report(JsonNode Content, int ExitCode = ExitCodes.Ok, string? Note = null)
{
    public static readonly Option<bool> Json = new("--json") { Description = "Print JSON, for programs." };

    // Without HTML escapes.
    private static readonly JsonWriterOptions Plain = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>Writes it as text, or as JSON when that is asked for.</summary>
    /// <returns>The exit code.</returns>
    public async Task<int> WriteAsync(ParseResult parsed)
    {
        var (output, error) = (parsed.InvocationConfiguration.Output, parsed.InvocationConfiguration.Error);
        await output.WriteLineAsync(parsed.GetValue(Json) ? ToJson() : ToText());
        if (Note is not null)
            await error.WriteLineAsync(Note);
        return ExitCode;
    }

    // By a writer: ToJsonString would link more of the serializer.
    private string ToJson()
    {
        using var buffer = new MemoryStream();
        using (var writer = new Utf8JsonWriter(buffer, Plain))
            Content.WriteTo(writer);
        return Encoding.UTF8.GetString(buffer.ToArray());
    }

    private string ToText() => Content switch
    {
        JsonArray { Count: 0 } => "none",
        JsonArray rows => Table(rows.Select(Flat).ToList()),
        _ => Aligned(Flat(Content).Select(static member => new[] { member.Key, member.Value }).ToList()),
    };

    // Members that only some rows have, such as a processor, are columns too.
    private static string Table(List<Dictionary<string, string>> rows)
    {
        var columns = rows.SelectMany(row => row.Keys).Distinct().ToArray();
        var lines = rows.ConvertAll(row => Array.ConvertAll(columns, column => row.GetValueOrDefault(column, "-")));
        lines.Insert(0, columns);
        return Aligned(lines);
    }

    private static string Aligned(List<string[]> lines)
    {
        // A peer's text, such as a webhook's failure, must not reach the terminal as it is.
        lines = lines.ConvertAll(static line => Array.ConvertAll(line, static cell => LogFormatter.Visible(cell)));
        // No LINQ over numbers: each pair of structs adds code to the binary.
        var widths = new int[lines[0].Length];
        foreach (var line in lines)
            for (var at = 0; at < widths.Length; at++)
                widths[at] = Math.Max(widths[at], line[at].Length);

        return string.Join(Environment.NewLine, lines.ConvertAll(line =>
            string.Concat(line.Select((cell, at) => cell.PadRight(widths[at] + 2))).TrimEnd()));
    }

    // Members of inner objects are named outer.inner.
    private static Dictionary<string, string> Flat(JsonNode? node)
    {
        var members = new Dictionary<string, string>();
        foreach (var (name, value) in node as JsonObject ?? [])
            if (value is JsonObject)
                foreach (var (inner, text) in Flat(value))
                    members[$"{name}.{inner}"] = text;
            else
                members[name] = value is JsonArray items
                    ? string.Join(" ", (IEnumerable<JsonNode?>)items)
                    : value?.ToString() ?? "-";

        return members;
    }
}
