using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.Odd;

/// <summary>What came of a line.</summary>
internal sealed record OddRow(OddLine Line)
{
    public List<string> Faults { get; init; } = [];

    /// <summary>Where, and how long after its acceptance.</summary>
    public IReadOnlyList<(string Processor, TimeSpan After)> Settled { get; init; } = [];

    public int Doubts { get; init; }

    /// <summary>Payments that were charged more than once, by the processors' own ledgers.</summary>
    public int Double { get; set; }

    /// <summary>By /ops, metrics and logs.</summary>
    public string[] Told { get; init; } = [];

    /// <summary>What became of the payments, and below it what an operator was told.</summary>
    public static string Tables(IReadOnlyCollection<OddRow> rows) => string.Join('\n',
    [
        .. Figure.Head(
            ["odd", "answer", "rate", "at default", "at fallback", "p50 s", "p99 s", "max s", "doubts", "double"]),
        .. rows.Select(row => Figure.Row([.. row.Names, .. row.Outcomes])),
        "",
        .. Figure.Head(["odd", "answer", "rate", "/ops", "its calls", "events"]),
        .. rows.Select(row => Figure.Row([.. row.Names, .. row.Told])),
        "",
    ]);

    public override string ToString() => Figure.Row([.. Names, .. Outcomes, .. Told]);

    private string[] Names => [Line.Odd, Line.Case.Name, Line.Rate.Name];

    private string[] Outcomes =>
    [
        At(PartNames.Default), At(PartNames.Fallback), After(0.5), After(0.99), After(1), Figure.Of(Doubts),
        Figure.Of(Double),
    ];

    private string At(string processor) => Figure.Of(Settled.Count(one => one.Processor == processor));

    private string After(double part)
    {
        var sorted = Settled.Select(one => one.After.TotalSeconds).Order().ToArray();
        var at = Math.Min(sorted.Length - 1, (int)(sorted.Length * part));
        return at < 0 ? "-" : Figure.Of(sorted[at], 2);
    }
}
