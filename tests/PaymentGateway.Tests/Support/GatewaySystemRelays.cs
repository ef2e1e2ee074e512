namespace PaymentGateway.Tests.Support;

/// <summary>Relays between the instances and what they call: PostgreSQL, each its own, and the processors.</summary>
public sealed class GatewaySystemRelays : IAsyncDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("payment-gateway-relays.");

    /// <summary>Listens before the system is started, and tells it where.</summary>
    /// <param name="postgres">The directory of PostgreSQL's socket, which is made with the system.</param>
    public GatewaySystemRelays(SystemSettings settings, Func<string> postgres)
    {
        Database1 = ToPostgres(postgres, GatewaySystem.First);
        Database2 = ToPostgres(postgres, GatewaySystem.Second);
        Processors = settings.Processors.ToDictionary(name => name, name => ToProcessor(settings.PortOf(name)));
        Settings = settings.With(
        [
            ("RELAY_DIR", _directory.FullName),
            .. Processors.Select(one => (InstanceEnvironment.RelayOf(one.Key), (string?)UrlOf(one.Value))),
        ]);
    }

    public SystemSettings Settings { get; }

    public Relay Database1 { get; }

    public Relay Database2 { get; }

    public IReadOnlyDictionary<string, Relay> Processors { get; }

    private IEnumerable<Relay> All => [Database1, Database2, .. Processors.Values];

    public void HealAll()
    {
        foreach (var relay in All)
            relay.Heal();
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var relay in All)
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
