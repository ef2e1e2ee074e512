using System.CommandLine;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace PaymentGateway.Commanding;

/// <summary>What a verb has found: an object is a line for each member, an array a table with a row for each.</summary>
/// <param name="Content">As the gateway said it, so that whatever it adds later is shown too.</param>
/// <param name="ExitCode">One of <see cref="ExitCodes"/>.</param>
/// <param name="Note">A line for standard error.</param>
internal sealed record Report(JsonNode Content, int ExitCode = ExitCodes.Ok, string? Note = null)
{
    // Characters as they are: it is no HTML.
    private static readonly JsonWriterOptions Plain = new() { Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping };

    /// <summary>Writes it as text, or as JSON when that is asked for.</summary>
    /// <returns>Its exit code.</returns>
    public async Task<int> WriteAsync(ParseResult parsed)
    {
        var (output, error) = (parsed.InvocationConfiguration.Output, parsed.InvocationConfiguration.Error);
        await output.WriteLineAsync(parsed.GetValue(GatewayVerb.Json) ? ToJson() : ToText());
        if (Note is not null)
            await error.WriteLineAsync(Note);
        return ExitCode;
    }

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
        JsonArray rows => Table(rows.Select(Cells).ToList()),
        _ => Aligned(Cells(Content).Select(cell => new[] { cell.Key, cell.Value })),
    };

    // Members that only some rows have, such as a processor, are columns too.
    private static string Table(List<Dictionary<string, string>> rows)
    {
        var columns = rows.SelectMany(row => row.Keys).Distinct().ToArray();
        return Aligned(rows.Select(row => Array.ConvertAll(columns, column => row.GetValueOrDefault(column, "-")))
            .Prepend(columns));
    }

    private static string Aligned(IEnumerable<string[]> lines)
    {
        var all = lines.ToList();
        var widths = Enumerable.Range(0, all[0].Length).Select(at => all.Max(line => line[at].Length)).ToArray();
        return string.Join(Environment.NewLine, all.Select(line =>
            string.Join("  ", line.Select((cell, at) => cell.PadRight(widths[at]))).TrimEnd()));
    }

    private static Dictionary<string, string> Cells(JsonNode? node)
    {
        var cells = new Dictionary<string, string>();
        if (node is JsonObject members)
            foreach (var (name, value) in members)
            {
                if (value is JsonObject)
                    foreach (var (inner, text) in Cells(value))
                        cells[$"{name}.{inner}"] = text;
                else
                    cells[name] = value switch
                    {
                        null => "-",
                        JsonArray items => string.Join(" ", items.Select(item => $"{item}")),
                        _ => value.ToString(),
                    };
            }

        return cells;
    }
}
