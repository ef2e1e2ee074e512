using System.Globalization;
using System.Net.Sockets;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// The real system as processes: published gateway twice, nginx, PostgreSQL, two simulators. Parts can be stopped,
/// killed and started singly; everything is stopped on disposal.
/// </summary>
public sealed class GatewaySystem : IAsyncDisposable
{
    public const string First = "api1";
    public const string Second = "api2";

    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(6);

    private readonly GatewaySystemScript script;
    private Dictionary<string, string> state = [];
    private GatewaySystemRelays? relays;

    private GatewaySystem(GatewaySystemScript script) => this.script = script;

    /// <summary>Through nginx, as clients come.</summary>
    public HttpClient Client { get; private set; } = null!;

    /// <summary>The first instance over its own socket.</summary>
    public HttpClient Api1 { get; private set; } = null!;

    /// <summary>The second instance over its own socket.</summary>
    public HttpClient Api2 { get; private set; } = null!;

    public SimulatedProcessor Default { get; private set; } = null!;

    public SimulatedProcessor Fallback { get; private set; } = null!;

    public GatewaySystemDatabase Database { get; private set; } = null!;

    /// <summary>The relays of a system that was started with them.</summary>
    public GatewaySystemRelays Relays =>
        relays ?? throw new InvalidOperationException("This system was started without relays.");

    public Uri Address => Client.BaseAddress!;

    /// <summary>Starts a system and waits until it takes payments.</summary>
    /// <param name="settings">Variables of eng/system or of the gateway, such as Gateway__Routing__Patience.</param>
    public static Task<GatewaySystem> UpAsync(params (string Name, string Value)[] settings) =>
        UpAsync(new GatewaySystemScript(settings));

    /// <summary>The same with a relay on each connection of the instances.</summary>
    public static Task<GatewaySystem> UpWithRelaysAsync(params (string Name, string Value)[] settings)
    {
        var script = new GatewaySystemScript(settings);
        return UpAsync(script, new GatewaySystemRelays(script));
    }

    private static async Task<GatewaySystem> UpAsync(GatewaySystemScript script, GatewaySystemRelays? relays = null)
    {
        var system = new GatewaySystem(script) { relays = relays };
        try
        {
            await script.UpAsync();
        }
        catch when (relays is not null)
        {
            await relays.DisposeAsync();
            throw;
        }

        system.Attach();
        return system;
    }

    public Task StartAsync(params string[] parts) => RunAsync(["start", .. parts]);

    public Task StopAsync(params string[] parts) => RunAsync(["stop", .. parts]);

    /// <summary>kill -9, and it is gone on return.</summary>
    public Task KillAsync(string part) => RunAsync(["kill", part]);

    public bool Runs(string part) => state.GetValueOrDefault($"{part}_pid") is { Length: > 0 };

    public int PidOf(string part) => int.Parse(state[$"{part}_pid"], CultureInfo.InvariantCulture);

    /// <summary>Where an instance listens.</summary>
    public string SocketOf(string part) => state[$"{part}_socket"];

    /// <summary>What a part has logged so far.</summary>
    public string ReadLog(string part) => File.ReadAllText(Path.Combine(state["logs"], $"{part}.log"));

    /// <summary>The HTTP clients of the instances that run.</summary>
    public IEnumerable<HttpClient> RunningInstances()
    {
        if (Runs(First))
            yield return Api1;
        if (Runs(Second))
            yield return Api2;
    }

    /// <summary>Starts a stopped instance as a child of the tests, so that its exit code can be seen.</summary>
    public GatewaySystemInstance StartChild(string part) => GatewaySystemInstance.Start(ChildSettings(part));

    /// <summary>The environment in which eng/system starts this instance.</summary>
    public Dictionary<string, string> ChildSettings(string part)
    {
        var settings = new Dictionary<string, string>
        {
            ["ASPNETCORE_URLS"] = $"http://unix:{state[$"{part}_socket"]}",
            ["ConnectionStrings__Ledger"] = state["connection_string"],
            ["Gateway__Instance__Name"] = part,
            ["Gateway__Processors__Default__BaseUrl"] = state["default_url"],
            ["Gateway__Processors__Fallback__BaseUrl"] = state["fallback_url"],
            ["Gateway__Storage__Profile"] = script.Setting("PROFILE", "unlogged"),
            ["Gateway__Intake__Acknowledge"] = script.Setting("ACKNOWLEDGE", "Stored"),
        };
        foreach (var (name, value) in script.GatewaySettings)
            settings[name] = value;
        return settings;
    }

    /// <summary>Healthy processors, empty books everywhere, and both instances know that default is usable.</summary>
    public async Task ResetAsync()
    {
        foreach (var processor in new[] { Default, Fallback })
        {
            await processor.ClearFaultsAsync();
            await processor.SetDelayAsync(TimeSpan.Zero);
            await processor.SetFailureAsync(false);
        }

        var probes = new LoadLedger();
        foreach (var instance in RunningInstances())
            await LoadDriver.PostAsync(instance, probes);
        await Eventually.HoldsAsync(IsIdleAsync, "nothing is under way from the test before");

        using var purged = await Client.PostAsync("purge-payments", null);
        purged.EnsureSuccessStatusCode();
        await Default.PurgeAsync();
        await Fallback.PurgeAsync();
    }

    /// <summary>Every stored payment is in the books, and no call is under way.</summary>
    public async Task<bool> IsIdleAsync() =>
        await Database.CountUnsettledAsync() == 0 && !await IsBusyAsync(Default) && !await IsBusyAsync(Fallback);

    public async ValueTask DisposeAsync()
    {
        Client?.Dispose();
        Api1?.Dispose();
        Api2?.Dispose();
        if (Default is not null)
            await Default.DisposeAsync();
        if (Fallback is not null)
            await Fallback.DisposeAsync();
        Database?.Thaw();
        await script.DownAsync();
        if (relays is not null)
            await relays.DisposeAsync();
    }

    private static async Task<bool> IsBusyAsync(SimulatedProcessor processor) =>
        await processor.CallsAsync() is { InFlight: > 0 } or { Queued: > 0 };

    private async Task RunAsync(string[] arguments)
    {
        await script.RunAsync(arguments);
        state = script.ReadState();
    }

    private void Attach()
    {
        state = script.ReadState();
        Client = new HttpClient(new SocketsHttpHandler { UseProxy = false })
        {
            BaseAddress = new Uri(state["url"]),
            Timeout = AnswerLimit,
        };
        Api1 = Over(state["api1_socket"]);
        Api2 = Over(state["api2_socket"]);
        Default = SimulatedProcessor.Attach(new Uri(state["default_url"]));
        Fallback = SimulatedProcessor.Attach(new Uri(state["fallback_url"]));
        Database = new GatewaySystemDatabase(state["connection_string"], () => PidOf("postgres"));
    }

    private static HttpClient Over(string path) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        ConnectCallback = async (_, cancellation) =>
        {
            var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
            try
            {
                await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), cancellation);
                return new NetworkStream(socket, ownsSocket: true);
            }
            catch
            {
                socket.Dispose();
                throw;
            }
        },
    })
    {
        BaseAddress = new Uri("http://gateway"),
        Timeout = AnswerLimit,
    };
}
