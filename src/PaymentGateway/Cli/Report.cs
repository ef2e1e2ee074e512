using System.CommandLine;
using System.Text;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;

namespace PaymentGateway.Cli;

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
        JsonArray rows => Table(rows),
        _ => Aligned(Cells(Content).ConvertAll(static cell => new[] { cell.Name, cell.Text })),
    };

    // Members that only some rows have, such as a processor, are columns too.
    private static string Table(JsonArray rows)
    {
        var columns = new List<string>();
        var cells = new List<List<Cell>>(rows.Count);
        foreach (var row in rows)
        {
            cells.Add(Cells(row));
            foreach (var cell in cells[^1])
                if (!columns.Contains(cell.Name))
                    columns.Add(cell.Name);
        }

        var lines = cells.ConvertAll(row => columns
            .ConvertAll(column => row.Find(cell => cell.Name == column)?.Text ?? "-").ToArray());
        lines.Insert(0, columns.ToArray());
        return Aligned(lines);
    }

    private static string Aligned(List<string[]> lines)
    {
        var widths = new int[lines[0].Length];
        foreach (var line in lines)
            for (var at = 0; at < widths.Length; at++)
                widths[at] = Math.Max(widths[at], line[at].Length);

        return string.Join(Environment.NewLine, lines.ConvertAll(line =>
        {
            var text = new StringBuilder();
            for (var at = 0; at < widths.Length; at++)
                text.Append(line[at].PadRight(widths[at] + 2));
            return text.ToString().TrimEnd();
        }));
    }

    private static List<Cell> Cells(JsonNode? node)
    {
        var cells = new List<Cell>();
        if (node is JsonObject members)
            foreach (var (name, value) in members)
            {
                if (value is JsonObject)
                    cells.AddRange(Cells(value).ConvertAll(inner => new Cell($"{name}.{inner.Name}", inner.Text)));
                else
                    cells.Add(new Cell(name, TextOf(value)));
            }

        return cells;
    }

    private static string TextOf(JsonNode? value) => value switch
    {
        null => "-",
        JsonArray items => string.Join(" ", (IEnumerable<JsonNode?>)items),
        _ => value.ToString(),
    };

    // A class: LINQ and lists over structs are compiled once more for each, and make the binary larger.
    private sealed record Cell(string Name, string Text);
}
