using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.Odd;

/// <summary>What came of a line.</summary>
internal sealed record OddRow(OddLine Line)
{
    public List<string> Faults { get; init; } = [];

    public int Payments { get; init; }

    /// <summary>Where, and how long after its acceptance.</summary>
    public IReadOnlyList<(string Processor, TimeSpan After)> Settled { get; init; } = [];

    public int Doubts { get; init; }

    /// <summary>Payments that were charged more than once, by the processors' own ledgers.</summary>
    public int Double { get; set; }

    /// <summary>By /ops, metrics and logs.</summary>
    public string[] Told { get; init; } = ["", "", ""];

    public static string Table(IEnumerable<OddRow> rows) => string.Join('\n', rows
        .Select(row => Figure.Row(row.Cells())).Prepend(string.Join('\n', Figure.Head(
        [
            "odd", "answer", "rate", "payments", "default", "fallback", "p50, p99, max s", "doubts", "double", "/ops",
            "calls", "events",
        ])))) + "\n";

    public override string ToString() => Figure.Row(Cells());

    private string[] Cells() =>
    [
        Line.Odd, Line.Case.Name, Line.Rate.Name, Figure.Of(Payments), At(PartNames.Default), At(PartNames.Fallback),
        $"{After(0.5)}, {After(0.99)}, {After(1)}", Figure.Of(Doubts), Figure.Of(Double), .. Told,
    ];

    private string At(string processor) => Figure.Of(Settled.Count(one => one.Processor == processor));

    private string After(double part)
    {
        var sorted = Settled.Select(one => one.After.TotalSeconds).Order().ToArray();
        var at = Math.Min(sorted.Length - 1, (int)(sorted.Length * part));
        return at < 0 ? "-" : Figure.Of(sorted[at], 2);
    }
}
