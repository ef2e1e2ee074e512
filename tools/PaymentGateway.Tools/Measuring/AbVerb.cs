using System.CommandLine;
using PaymentGateway.Tools.Paying;

namespace PaymentGateway.Tools.Measuring;

/// <summary>
/// Which of two or more is cheaper, where the machine drifts by more than they differ: all of them are up at once,
/// loaded in turn by short bursts at fixed moments, and compared within each round.
/// </summary>
public static class AbVerb
{
    private const string Description =
        """
        An A/B run: which variant costs less CPU. A variant is NAME[=VARIABLE=VALUE …]: the shipped system with these
        variables. CLONE=DIR takes another clone's scripts, settings and binaries, published there; FRAMEWORK=net10.0
        takes what `make publish FRAMEWORK=net10.0` left. Settings: LIMITS=1 ROUNDS RATE SECONDS_EACH; RATE=0 is as
        fast as 64 connections can, by wrk. Scripts before 1.0.0 may limit nothing at the start, and LIMITS=1 refuses
        them: GATEWAY_BIN=FILE takes the binary alone.
        Example: shipped 'often=Gateway__Recording__Linger=40ms'
        """;

    public static Command Create()
    {
        var variants = new Argument<string[]>("variant") { Arity = new ArgumentArity(2, 100) };
        var verb = new Command("ab", Description) { variants };
        verb.SetAction((parsed, cancellation) =>
            RunAsync([.. parsed.GetValue(variants)!.Select(AbVariant.Parse)], cancellation));
        return verb;
    }

    private static async Task<int> RunAsync(AbVariant[] variants, CancellationToken cancellation)
    {
        if (variants.DistinctBy(variant => variant.Name).Count() < variants.Length)
            throw new ToolException("two variants have the same name");

        var settings = SystemSettings.FromEnvironment();
        var folder = Directory.CreateTempSubdirectory("payment-gateway-ab.");
        // PostgreSQL runs as another user.
        folder.UnixFileMode |= UnixFileMode.GroupRead | UnixFileMode.GroupExecute
            | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;
        AbSystem[] systems = [.. variants.Select(variant => new AbSystem(variant, settings, folder.FullName))];
        try
        {
            await MeasureAsync(systems, settings, cancellation);
        }
        finally
        {
            foreach (var system in systems)
                await system.DisposeAsync();
            folder.Delete(recursive: true);
        }

        return 0;
    }

    private static async Task MeasureAsync(
        AbSystem[] systems, SystemSettings settings, CancellationToken cancellation)
    {
        var rounds = settings.Number("ROUNDS", 10);
        var rate = settings.Number("RATE", 280);
        var seconds = settings.Number("SECONDS_EACH", 4);
        foreach (var system in systems)
            await system.StartAsync(rate, cancellation);

        var limits = settings.Limits ? "under limits, " : "";
        Console.WriteLine($"A/B run of {DateTime.UtcNow:yyyy-MM-dd HH:mm} UTC, {limits}"
            + $"{(rate == 0 ? "as fast as can be" : $"{rate}/s")} for {seconds} s each, "
            + $"{rounds} rounds in random orders");
        foreach (var variant in systems.Select(system => system.Variant))
            Console.WriteLine($"{variant.Name}: commit {await Commit.ReadAsync(cancellation, variant.Root)}");

        var bursts = new List<AbBurst>();
        for (var round = 1; round <= rounds; round++)
        {
            foreach (var system in systems.OrderBy(_ => Random.Shared.Next()))
                bursts.Add(await system.PayAsync(round, rate, seconds, cancellation));
        }

        Console.WriteLine();
        foreach (var line in AbTable.Of([.. systems.Select(system => system.Variant.Name)], bursts))
            Console.WriteLine(line);
    }
}

/// <summary>A variant that is up, started and stopped by its own clone's scripts, until it is disposed.</summary>
internal sealed class AbSystem : IAsyncDisposable
{
    private const int Connections = 64;
    private static readonly TimeSpan SettleLimit = TimeSpan.FromMinutes(1);

    private readonly string _folder;
    private readonly Dictionary<string, string?> _variables;
    private readonly SystemSettings _settings;
    private PartMeter? _meter;

    /// <param name="folder">For everything of this run; PostgreSQL's user can enter it.</param>
    public AbSystem(AbVariant variant, SystemSettings common, string folder)
    {
        Variant = variant;
        _folder = Path.Combine(folder, variant.Name);
        _settings = FreePorts.Added(common.With(
            ("PORT", null), ("DEFAULT_PORT", null), ("FALLBACK_PORT", null), ("ADMIN_PORT", null)));
        _variables = new Dictionary<string, string?>
        {
            ["NO_PUBLISH"] = "1",
            ["RUN_DIR"] = _folder,
            ["PORT"] = Figure.Of(_settings.Port),
            ["DEFAULT_PORT"] = Figure.Of(_settings.DefaultPort),
            ["FALLBACK_PORT"] = Figure.Of(_settings.FallbackPort),
            ["ADMIN_PORT"] = Figure.Of(_settings.AdminPort),
        };
        foreach (var (name, value) in variant.Variables)
            _variables[name] = value;
    }

    public AbVariant Variant { get; }

    private Uri Url => new(_settings.Url);

    private string Script => Path.Combine(Variant.Root, "eng", "tool");

    public async Task StartAsync(int perSecond, CancellationToken cancellation)
    {
        var up = await Shell.RunAsync([Script, "up"], Variant.Root, _variables, cancellation: cancellation);
        if (!up.Succeeded)
        {
            await Console.Error.WriteLineAsync(up.Output + up.Errors);
            throw new ToolException($"{Variant.Name} did not start");
        }

        _meter = new PartMeter(PartMeter.PidsIn(Path.Combine(_folder, "system.env")), _settings.Limits);
        await PayAsync(round: 0, perSecond, seconds: 4, cancellation);
    }

    /// <summary>A short load and what a payment of it cost; with a rate of 0 as fast as connections can.</summary>
    public async Task<AbBurst> PayAsync(int round, int perSecond, int seconds, CancellationToken cancellation)
    {
        if (perSecond == 0)
            return await SaturateAsync(round, seconds, cancellation);

        using var http = new HttpClient(new SocketsHttpHandler { UseProxy = false }) { BaseAddress = Url };
        // A variant with payers (Gateway__Admin__Tokens__<name>__Token): the last one pays. Kestrel keeps the value of
        // this header for the next request of its connection, and allocates for a header that it does not know.
        if (_variables.LastOrDefault(one => one.Key.EndsWith("__Token", StringComparison.Ordinal)).Value is { } token)
            http.DefaultRequestHeaders.Add("Authorization", $"Bearer {token}");
        var ledger = new LoadLedger();
        var before = _meter!.Cpu();
        await LoadDriver.RunAtRateAsync(http, ledger, perSecond, TimeSpan.FromSeconds(seconds));
        // The last outcomes.
        await Task.Delay(TimeSpan.FromSeconds(0.5), cancellation);
        var used = _meter.Cpu() - before;
        return ledger.Acknowledged == ledger.Count
            ? new AbBurst(
                Variant.Name, round, used.Per(ledger.Count), ledger.Percentile(50).TotalMilliseconds,
                ledger.Percentile(99).TotalMilliseconds)
            : throw new ToolException($"{Variant.Name} accepted only {ledger.Acknowledged} of {ledger.Count}");
    }

    private async Task<AbBurst> SaturateAsync(int round, int seconds, CancellationToken cancellation)
    {
        using var http = new HttpClient(new SocketsHttpHandler { UseProxy = false }) { BaseAddress = Url };
        var settled = await SettledAsync();
        var before = _meter!.Cpu();
        var load = await Wrk.PayAsync(Url, Connections, seconds, round, cancellation);
        if (!await Waiting.HoldsAsync(
            SettleLimit, async () => await SettledAsync() >= settled + load.Accepted, cancellation))
            throw new ToolException($"{Variant.Name} did not settle {load.Accepted} payments in time");
        return new AbBurst(
            Variant.Name, round, (_meter.Cpu() - before).Per(load.Accepted), load.P50Ms, load.P99Ms);

        // Of all processors; none when the gateway does not say, as it may just after such a load.
        async Task<int> SettledAsync()
        {
            using var answer = await http.GetAsync(new Uri("payments-summary", UriKind.Relative), cancellation);
            if (!answer.IsSuccessStatusCode)
                return 0;

            using var summary = JsonDocument.Parse(await answer.Content.ReadAsStringAsync(cancellation));
            return summary.RootElement.EnumerateObject()
                .Sum(processor => processor.Value.GetProperty("totalRequests").GetInt32());
        }
    }

    public async ValueTask DisposeAsync()
    {
        await Shell.RunAsync([Script, "down"], Variant.Root, _variables, cancellation: CancellationToken.None);
    }
}

/// <summary>What one burst of payments at one variant cost: CPU in milliseconds per payment.</summary>
public sealed record AbBurst(string Variant, int Round, CpuUse Cpu, double P50Ms, double P99Ms);

/// <summary>The bursts as a table: medians, and how much of the first variant each is, round by round.</summary>
public static class AbTable
{
    private static readonly string[] Head =
    [
        "variant", "CPU µs a payment, median", "nginx", "instances", "PostgreSQL", "p50 ms", "p99 ms",
        "of the first one, mean of the rounds",
    ];

    /// <param name="variants">In the order of the table: the first one is what all are compared with.</param>
    public static IEnumerable<string> Of(IReadOnlyList<string> variants, IReadOnlyList<AbBurst> bursts)
    {
        foreach (var line in Figure.Head(Head))
            yield return line;
        var first = bursts.Where(burst => burst.Variant == variants[0]).ToDictionary(burst => burst.Round);
        foreach (var variant in variants)
        {
            var own = bursts.Where(burst => burst.Variant == variant).ToList();
            var ratio = Statistics.RatioOf(own.Select(burst => (burst.Cpu.All, first[burst.Round].Cpu.All)));
            yield return Figure.Row(
                [variant, MicrosOf(own, cpu => cpu.All), MicrosOf(own, cpu => cpu.Nginx),
                    MicrosOf(own, cpu => cpu.Instances), MicrosOf(own, cpu => cpu.PostgreSql),
                    Figure.Of(Statistics.Median(own.Select(burst => burst.P50Ms)), 2),
                    Figure.Of(Statistics.Median(own.Select(burst => burst.P99Ms)), 2),
                    $"{Figure.Of(ratio.Mean, 3)} ± {Figure.Of(ratio.StandardError, 3)}"]);
        }
    }

    private static string MicrosOf(IEnumerable<AbBurst> bursts, Func<CpuUse, double> part) =>
        Figure.Of(Statistics.Median(bursts.Select(burst => 1000 * part(burst.Cpu))), 0);
}

/// <summary>One of those that are compared: the shipped system with some variables, perhaps of another clone.</summary>
/// <param name="Root">The clone whose scripts, settings and published binaries are taken.</param>
public sealed record AbVariant(string Name, IReadOnlyDictionary<string, string> Variables, string Root)
{
    private const string CloneName = "CLONE";

    /// <param name="text">NAME[=VARIABLE=VALUE …]</param>
    public static AbVariant Parse(string text)
    {
        var (name, rest) = Split(text);
        var variables = rest.Split(' ', StringSplitOptions.RemoveEmptyEntries).Select(Split)
            .ToDictionary(word => word.Name, word => word.Value);
        variables.Remove(CloneName, out var clone);
        return new AbVariant(name, variables, Path.GetFullPath(clone ?? Repository.Root));
    }

    private static (string Name, string Value) Split(string text) =>
        text.IndexOf('=', StringComparison.Ordinal) is var at and >= 0 ? (text[..at], text[(at + 1)..]) : (text, "");
}
