namespace PaymentGateway.Tools.Odd;

/// <summary>A processor that answers oddly for 90 s, while the other one is healthy.</summary>
/// <param name="Faults">The body of the simulator's PUT /admin/faults.</param>
/// <param name="DelayMs">The contract's own switches, as the next one.</param>
/// <param name="NeedsWord">Only an operator's word ends the doubts that are left.</param>
internal sealed record OddCase(
    string Name, object? Faults, int DelayMs = 0, bool Failing = false, bool NeedsWord = false)
{
    /// <summary>Slower than any answer that is quick, and quicker than CallTimeout.</summary>
    private const int Late = 2_500;

    public static readonly TimeSpan Length = TimeSpan.FromSeconds(90);

    private static readonly OddCase[] Doubtful =
    [
        new("stores, resets", new { afterInsert = "reset" }),
        new("stores, hangs", new { afterInsert = "hang" }),
        new("stores, resets; look-ups 404", new { afterInsert = "reset", lookUp = "notFound" }),
        new("stores; 404 pages", new { afterInsert = "foreign", lookUp = "foreign", health = "garbage" }),
        new("stores; garbage", new { afterInsert = "garbage", lookUp = "garbage", health = "garbage" }),
        new("connects to nobody", new { unanswered = (int)Length.TotalSeconds }),
    ];

    private static readonly OddCase[] Others =
    [
        new("loses, resets", new { beforeInsert = "reset" }),
        new("loses; 404 pages", new { status = 404, lookUp = "foreign" }),
        new("loses; garbage", new { garbage = true }),
        new("loses; 422", new { status = 422 }, NeedsWord: true),
        new("500 after 2.5 s", null, Late, Failing: true),
        new("429 after 2.5 s", new { tooMany = true }, Late),
        new("works, health denies it", new { health = "lie" }),
        new("fails, health denies it", new { health = "lie" }, Failing: true),
    ];

    /// <summary>Of each line the processor that is odd. While fallback is, default is out for the first half.</summary>
    public static IReadOnlyList<(OddCase Case, string Odd)> All { get; } =
    [
        .. Doubtful.Concat(Others).Select(one => (one, PartNames.Default)),
        .. Doubtful.Select(one => (one, PartNames.Fallback)),
    ];
}

/// <summary>So many payments in a time.</summary>
internal sealed record OddRate(string Name, double PerSecond, TimeSpan Length)
{
    // Past the fault's end, so that the end is met by a payment, too.
    private static readonly TimeSpan Longer = OddCase.Length + TimeSpan.FromSeconds(10);

    public static IReadOnlyList<OddRate> All { get; } =
    [
        new("1/min", 1 / 60.0, TimeSpan.FromSeconds(185)),
        new("1/s", 1, Longer),
        new("50/s", 50, Longer),
    ];
}
