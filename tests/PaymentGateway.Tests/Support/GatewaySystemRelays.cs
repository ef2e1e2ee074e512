namespace PaymentGateway.Tests.Support;

/// <summary>Relays between the instances and what they call: PostgreSQL, each its own, and both processors.</summary>
public sealed class GatewaySystemRelays : IAsyncDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("payment-gateway-relays.");

    /// <summary>Listens before the system is started, and tells it where.</summary>
    /// <param name="postgres">The directory of PostgreSQL's socket, which is made with the system.</param>
    public GatewaySystemRelays(SystemSettings settings, Func<string> postgres)
    {
        Database1 = ToPostgres(postgres, GatewaySystem.First);
        Database2 = ToPostgres(postgres, GatewaySystem.Second);
        Default = ToProcessor(settings.DefaultPort);
        Fallback = ToProcessor(settings.FallbackPort);
        Settings = settings.With(
            ("RELAY_DIR", _directory.FullName),
            ("RELAY_DEFAULT_URL", UrlOf(Default)),
            ("RELAY_FALLBACK_URL", UrlOf(Fallback)));
    }

    public SystemSettings Settings { get; }

    public Relay Database1 { get; }

    public Relay Database2 { get; }

    public Relay Default { get; }

    public Relay Fallback { get; }

    public void HealAll()
    {
        foreach (var relay in new[] { Database1, Database2, Default, Fallback })
            relay.Heal();
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var relay in new[] { Database1, Database2, Default, Fallback })
            await relay.DisposeAsync();
        _directory.Delete(recursive: true);
    }

    private static string UrlOf(Relay relay) => string.Create(
        CultureInfo.InvariantCulture, $"http://127.0.0.1:{((IPEndPoint)relay.Address).Port}");

    private static Relay ToProcessor(int port) => new(
        new IPEndPoint(IPAddress.Loopback, 0), () => new IPEndPoint(IPAddress.Loopback, port));

    private Relay ToPostgres(Func<string> postgres, string part) =>
        Relay.ToPostgres(_directory.CreateSubdirectory(part).FullName, postgres);
}
