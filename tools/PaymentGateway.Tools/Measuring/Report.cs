namespace PaymentGateway.Tools.Measuring;

/// <summary>What a measurement says: raw rows as they come, then tables in Markdown.</summary>
internal sealed class Report(string folder)
{
    private readonly string _rowsFile = Path.Combine(folder, "rows.txt");

    public string File { get; } = Path.Combine(folder, "report.md");

    public Rows Rows { get; } = new();

    /// <summary>A line for the reader now and for the report.</summary>
    public void Tell(string line)
    {
        Console.WriteLine(line);
        System.IO.File.AppendAllText(File, line + "\n");
    }

    /// <summary>A raw row, kept for the medians.</summary>
    public void Row(string section, string label, params string[] figures)
    {
        Rows.Add(section, label, figures);
        var line = $"{section} {label} {string.Join(' ', figures)}";
        Console.WriteLine(line);
        System.IO.File.AppendAllText(_rowsFile, line + "\n");
    }

    /// <summary>A title and a head; the rows follow.</summary>
    public void Table(string title, params string[] head)
    {
        Tell("");
        Tell(title);
        Tell("");
        TableRow(head);
        TableRow([.. head.Select(_ => "---")]);
    }

    public void TableRow(params string[] cells) => Tell(Rows.Line(cells));
}
