namespace PaymentGateway.Tools.Measuring;

/// <summary>Raw figures, by section and label; a label measured several times becomes one row of medians.</summary>
public sealed class Rows
{
    private readonly List<(string Section, string Label, string[] Figures)> _rows = [];

    public void Add(string section, string label, string[] figures) => _rows.Add((section, label, figures));

    /// <summary>A table's row.</summary>
    public static string Line(IEnumerable<string> cells) => $"| {string.Join(" | ", cells)} |";

    public IReadOnlyList<string> Column(string section, string label, int column) => _rows
        .Where(row => row.Section == section && row.Label == label && column < row.Figures.Length)
        .Select(row => row.Figures[column]).ToList();

    public string MedianOf(string section, string label, int column) =>
        Figure.MedianOf(Column(section, label, column));

    public IEnumerable<string> Medians(string section, string label, Range columns)
    {
        var width = _rows.Where(row => row.Section == section && row.Label == label)
            .Select(row => row.Figures.Length).DefaultIfEmpty().Max();
        var (first, count) = columns.GetOffsetAndLength(width);
        return Enumerable.Range(first, count).Select(column => MedianOf(section, label, column));
    }
}
