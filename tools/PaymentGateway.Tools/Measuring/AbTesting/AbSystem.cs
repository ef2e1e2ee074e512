using PaymentGateway.Tools.Limiting;
using PaymentGateway.Tools.Measuring.Load;
using PaymentGateway.Tools.Paying;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring.AbTesting;

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
        if (_settings.Limits)
            _variables["HEAP_LIMIT"] = ComposeSplit.HeapLimit();
        foreach (var (name, value) in variant.Variables)
            _variables[name] = value;
    }

    public AbVariant Variant { get; }

    private Uri Url => new(_settings.Url);

    // A clone from before the tools has a script of its own for this.
    private string Script => Path.Combine(Variant.Root, "eng", "tool") is var tool && File.Exists(tool)
        ? tool
        : Path.Combine(Variant.Root, "eng", "system");

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
        using var client = new GatewayClient(_settings);
        var settled = await client.SettledAsync(cancellation) ?? 0;
        var before = _meter!.Cpu();
        var load = await Wrk.PayAsync(Url, Connections, seconds, round, cancellation);
        await client.AwaitSettledAsync(settled + load.Accepted, SettleLimit, cancellation);
        return new AbBurst(
            Variant.Name, round, (_meter.Cpu() - before).Per(load.Accepted), load.P50Ms, load.P99Ms);
    }

    public async ValueTask DisposeAsync()
    {
        await Shell.RunAsync([Script, "down"], Variant.Root, _variables, cancellation: CancellationToken.None);
        _meter?.Dispose();
    }
}
