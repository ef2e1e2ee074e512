using System.Globalization;
using System.Net;
using System.Net.Sockets;

namespace PaymentGateway.Tests.Support;

/// <summary>Relays between the instances and what they call: PostgreSQL, each its own, and both processors.</summary>
public sealed class GatewaySystemRelays : IAsyncDisposable
{
    // The name of PostgreSQL's socket in its directory.
    private const string PostgresSocket = ".s.PGSQL.5432";

    private readonly DirectoryInfo directory = Directory.CreateTempSubdirectory("payment-gateway-relays.");

    /// <summary>Listens before the system is started, and tells it where.</summary>
    public GatewaySystemRelays(GatewaySystemScript script)
    {
        Database1 = ToPostgres(script, GatewaySystem.First);
        Database2 = ToPostgres(script, GatewaySystem.Second);
        Default = ToProcessor(script, "DEFAULT_PORT");
        Fallback = ToProcessor(script, "FALLBACK_PORT");
        script.Set("RELAY_DIR", directory.FullName);
        script.Set("RELAY_DEFAULT_URL", UrlOf(Default));
        script.Set("RELAY_FALLBACK_URL", UrlOf(Fallback));
    }

    /// <summary>Between the first instance and PostgreSQL.</summary>
    public Relay Database1 { get; }

    /// <summary>Between the second instance and PostgreSQL.</summary>
    public Relay Database2 { get; }

    /// <summary>Between both instances and default.</summary>
    public Relay Default { get; }

    /// <summary>Between both instances and fallback.</summary>
    public Relay Fallback { get; }

    /// <summary>An instance's way to PostgreSQL.</summary>
    public Relay DatabaseOf(string part) => part == GatewaySystem.First ? Database1 : Database2;

    public void HealAll()
    {
        foreach (var relay in new[] { Database1, Database2, Default, Fallback })
            relay.Heal();
    }

    public async ValueTask DisposeAsync()
    {
        foreach (var relay in new[] { Database1, Database2, Default, Fallback })
            await relay.DisposeAsync();
        directory.Delete(recursive: true);
    }

    private static string UrlOf(Relay relay) => string.Create(
        CultureInfo.InvariantCulture, $"http://127.0.0.1:{((IPEndPoint)relay.Address).Port}");

    private static Relay ToProcessor(GatewaySystemScript script, string port) => new(
        new IPEndPoint(IPAddress.Loopback, 0), () => new IPEndPoint(IPAddress.Loopback, script.PortOf(port)));

    private Relay ToPostgres(GatewaySystemScript script, string part) => new(
        new UnixDomainSocketEndPoint(Path.Combine(directory.CreateSubdirectory(part).FullName, PostgresSocket)),
        () => new UnixDomainSocketEndPoint(
            Path.Combine(script.ReadSocketDirectory(), "postgres", PostgresSocket)));
}
