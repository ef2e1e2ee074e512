namespace PaymentGateway.Benchmarks.Routing;

/// <summary>The behaviour of the processors from a second of the load on, in order of their fees.</summary>
internal readonly record struct Stage(double Second, params Behaviour[] At);

/// <summary>A processor's two switches: the delay of every charge, and whether it then fails (contract.md).</summary>
internal readonly record struct Behaviour(int DelayMs, bool Failing);

/// <summary>A load and what the processors do meanwhile.</summary>
/// <param name="Seconds">Length of the load; what is settled later does not count.</param>
/// <param name="RateFrom">Payments per second at its start; the rate grows evenly.</param>
/// <param name="RateTo">Payments per second at its end.</param>
/// <param name="Fees">Part of an amount that each processor charges, the cheapest first.</param>
internal sealed record Schedule(
    string Name, double Seconds, double RateFrom, double RateTo, double[] Fees, Stage[] Stages)
{
    /// <summary>False: no processor answers a health call.</summary>
    public bool ReportsHealth { get; init; } = true;

    private static readonly int[] Delays = [0, 0, 5, 20, 50, 100, 100, 500, 1000, 1500, 2000, 5000];

    /// <summary>contract.md, the official preview load.</summary>
    public static Schedule Preview { get; } = new("preview", 60, 1, 550, [0.05, 0.15],
    [
        At(0, 0, false, 0, false), At(10, 100, false, 0, false), At(20, 100, true, 0, false),
        At(30, 2000, true, 1000, true), At(40, 20, false, 20, false), At(50, 0, false, 5000, false),
    ]);

    /// <summary>contract.md, the official final load.</summary>
    public static Schedule Final { get; } = new("final", 300, 1, 603, [0.07, 0.10],
    [
        At(0, 0, false, 0, false), At(30, 1000, false, 0, false), At(60, 500, false, 0, false),
        At(90, 2000, true, 1000, false), At(120, 5000, true, 5, false), At(150, 0, false, 5, true),
        At(180, 100, false, 5, false), At(210, 50, false, 0, false), At(240, 103, false, 10, false),
        At(270, 2000, false, 0, false),
    ]);

    /// <summary>
    /// A payment a minute for an hour; for half of it default refuses each charge after 2 s, as a host that swallows
    /// connections does, and tells nobody.
    /// </summary>
    public static Schedule Alone { get; } = new("one a minute", 3_600, 1 / 60.0, 1 / 60.0, [0.05, 0.15],
    [
        At(0, 5, false, 5, false), At(900, 2000, true, 5, false), At(2700, 5, false, 5, false),
    ])
    { ReportsHealth = false };

    /// <summary>One of any number: stages, lengths, delays, failures, fees, rates and the end are random.</summary>
    /// <param name="processors">How many there are.</param>
    public static Schedule Random(int seed, int processors = 2)
    {
        var random = new Random(seed);
        var stages = new List<Stage>();
        var second = 0.0;
        var count = random.Next(3, 13);
        for (var i = 0; i < count; i++)
        {
            stages.Add(new Stage(second, [
                Any(random, 0.3), .. Enumerable.Range(1, processors - 1).Select(_ => Any(random, 0.15))]));
            second += 3 + random.NextDouble() * 42;
        }

        var fees = new List<double> { 0.01 + random.NextDouble() * 0.07 };
        while (fees.Count < processors)
            fees.Add(fees[^1] + 0.01 + random.NextDouble() * 0.11);
        var (low, high) = (random.Next(1, 300), random.Next(300, 650));
        var grows = random.Next(2) == 0;
        return new Schedule(
            $"random {seed}", second, grows ? low : high, high, [.. fees], [.. stages]);
    }

    /// <summary>
    /// This load with slow stages that begin up to 2.6 s sooner: the probes of a slow processor are elsewhere in their
    /// course when it recovers.
    /// </summary>
    /// <param name="part">0 to 1.</param>
    public Schedule Shifted(double part) => this with
    {
        Stages = [.. Stages.Select(stage => stage.At[0].DelayMs < 2_000
            ? stage
            : stage with { Second = stage.Second - part * 2.6 })],
    };

    /// <summary>When the payment of this number is accepted, seconds; null after the end of the load.</summary>
    public double? ArrivalOf(double number)
    {
        // The rate is a + bt, so a t + b t^2 / 2 payments have arrived by t.
        var (a, b) = (RateFrom, (RateTo - RateFrom) / Seconds);
        var at = b == 0 ? number / a : (Math.Sqrt(a * a + 2 * b * number) - a) / b;
        return at < Seconds ? at : null;
    }

    public Stage StageAt(double second)
    {
        var at = 0;
        while (at + 1 < Stages.Length && Stages[at + 1].Second <= second)
            at++;
        return Stages[at];
    }

    private static Behaviour Any(Random random, double failing) =>
        new(Delays[random.Next(Delays.Length)], random.NextDouble() < failing);

    private static Stage At(double second, int defaultMs, bool defaultFails, int fallbackMs, bool fallbackFails) =>
        new(second, new Behaviour(defaultMs, defaultFails), new Behaviour(fallbackMs, fallbackFails));
}
