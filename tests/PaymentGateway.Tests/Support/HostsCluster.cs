namespace PaymentGateway.Tests.Support;

public enum HostFault
{
    NoLedger, // The network to the database is cut.
    NoProcessors, // The network to the processors is cut.
    Frozen, // Every process stands still.
}

/// <summary>Three hosts with networks and clocks of their own; one PostgreSQL, both processors, one nginx.</summary>
public sealed class HostsCluster : IAsyncDisposable, IComparedSystem
{
    private static readonly Regex Lost = new(
        @"Epoch (\d+) was closed by another instance; its (\d+) payments can be adopted");

    public static readonly IReadOnlyDictionary<int, int> Clocks =
        new Dictionary<int, int> { [1] = 2, [2] = -2, [3] = 0 };

    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(10);

    private readonly ServerScript _script;
    private readonly string _number;
    private readonly Dictionary<int, HttpClient> _hosts;
    private readonly HashSet<int> _broken = [];

    private HostsCluster(ServerScript script)
    {
        _script = script;
        // The script takes one that is free.
        _number = Path.GetExtension(script.Directory)[1..];
        _hosts = Clocks.Keys.ToDictionary(host => host, host => UnixHttp.Plain(
            new Uri($"http://10.234.{_number}.1{host}:8080"), AnswerLimit));
        Client = new HttpClient(Answers)
        {
            BaseAddress = new Uri($"http://10.234.{_number}.10:9999"),
            Timeout = AnswerLimit,
        };
        Processors = new Dictionary<string, SimulatedProcessor>
        {
            [PartNames.Default] = SimulatedProcessor.Attach(new Uri($"http://10.233.{_number}.10:8001")),
            [PartNames.Fallback] = SimulatedProcessor.Attach(new Uri($"http://10.233.{_number}.10:8002")),
        };
        Database = new GatewaySystemDatabase(
            $"Host=10.232.{_number}.10;Username=gateway;Database=gateway",
            () => throw new NotSupportedException("the script has it"));
    }

    public static string? SkipReason { get; } = GatewaySystemParts.SkipReason
        ?? (!Environment.IsPrivilegedProcess ? "lacks root: only root may make networks to cut"
            : !Programs.Has("ip") ? "lacks ip: eng/setup tests brings it"
            : FakedTime.SkipReason);

    public HttpClient Client { get; }

    public RetryAfterCheck Answers { get; } = new();

    public IReadOnlyDictionary<string, SimulatedProcessor> Processors { get; }

    public SimulatedProcessor Default => Processors[PartNames.Default];

    public SimulatedProcessor Fallback => Processors[PartNames.Fallback];

    public GatewaySystemDatabase Database { get; }

    public static async Task<HostsCluster> UpAsync(params (string Name, string Value)[] settings)
    {
        var cluster = new HostsCluster(await ServerScript.StartAsync(
        [
            ServerScript.PathOf("hosts-cluster"), Repository.Root, PostgresServer.Binaries!,
            GatewaySystemParts.Gateway, GatewaySystemParts.Simulator, FakedTime.Library!,
            .. Clocks.Values.Select(clock => clock.ToString("+0;-0;+0", CultureInfo.InvariantCulture)),
            .. settings.Select(setting => $"{setting.Name}={setting.Value}"),
        ]));
        try
        {
            foreach (var http in cluster._hosts.Values.Append(cluster.Client))
                await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(http), $"{http.BaseAddress} is ready");
            return cluster;
        }
        catch
        {
            await cluster.DisposeAsync();
            throw;
        }
    }

    public HttpClient Host(int host) => _hosts[host];

    public IEnumerable<HttpClient> RunningInstances() =>
        _hosts.Where(host => !_broken.Contains(host.Key)).Select(host => host.Value);

    public Task BreakAsync(int host, HostFault fault)
    {
        _broken.Add(host);
        return _script.OrderAsync(fault == HostFault.Frozen ? $"freeze {host}" : $"cut {host} {(int)fault}");
    }

    public async Task RepairAsync(int host, HostFault fault)
    {
        await _script.OrderAsync(fault == HostFault.Frozen ? $"thaw {host}" : $"heal {host} {(int)fault}");
        _broken.Remove(host);
    }

    public async Task<int> EpochOfAsync(int host) => (int)await Database.NumberAsync(
        $"SELECT max(epoch) FROM leases WHERE instance LIKE '%/host{host}'");

    /// <summary>How often a host has charged, at both processors, whatever came of it.</summary>
    public async Task<long> CountChargesOfAsync(int host)
    {
        var address = $"10.233.{_number}.1{host}";
        var callers = await Task.WhenAll(Processors.Values.Select(processor => processor.CallersAsync()));
        return callers.Sum(all => all.GetValueOrDefault(address));
    }

    /// <summary>The charges of a host that sends no more, once slow processors have received all of them.</summary>
    public async Task<long> CountAllChargesOfAsync(int host)
    {
        var counted = -1L;
        await Eventually.HoldsAsync(
            async () =>
            {
                await _script.OrderAsync($"arrive {host}");
                var before = counted;
                counted = await CountChargesOfAsync(host);
                return counted == before;
            },
            $"what host {host} has sent is counted");
        return counted;
    }

    /// <summary>How many payments it says to have lost with an epoch; null when it has not said so yet.</summary>
    public int? LostWith(int host, int epoch) =>
        Lost.Matches(File.ReadAllText(Path.Combine(_script.Directory, $"host{host}.log")))
            .Where(match => match.Groups[1].Value == $"{epoch}")
            .Select(match => (int?)int.Parse(match.Groups[2].Value, CultureInfo.InvariantCulture)).FirstOrDefault();

    public async ValueTask DisposeAsync()
    {
        foreach (var http in _hosts.Values.Append(Client))
            http.Dispose();
        foreach (var processor in Processors.Values)
            await processor.DisposeAsync();
        await _script.DisposeAsync();
    }
}

public sealed class HostsFactAttribute() : NeedsFactAttribute(WholeSystem, HostsCluster.SkipReason);

/// <summary>Counts the answers 503 that a client gets, and those that do not say when to come again.</summary>
public sealed class RetryAfterCheck() : DelegatingHandler(new SocketsHttpHandler { UseProxy = false })
{
    private int _refused;
    private int _withoutRetryAfter;

    public int Refused => _refused;

    public int WithoutRetryAfter => _withoutRetryAfter;

    protected override async Task<HttpResponseMessage> SendAsync(
        HttpRequestMessage request, CancellationToken cancellationToken)
    {
        var answer = await base.SendAsync(request, cancellationToken);
        if (answer.StatusCode == HttpStatusCode.ServiceUnavailable)
        {
            Interlocked.Increment(ref _refused);
            if (answer.Headers.RetryAfter is null)
                Interlocked.Increment(ref _withoutRetryAfter);
        }

        return answer;
    }
}
