using System.Globalization;
using System.Net;
using System.Net.Sockets;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tests.Support;

/// <summary>Relays between the instances and what they call: PostgreSQL, each its own, and both processors.</summary>
public sealed class GatewaySystemRelays : IAsyncDisposable
{
    // The name of PostgreSQL's socket in its directory.
    private const string PostgresSocket = ".s.PGSQL.5432";

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

    /// <summary>Those given, with the relays in them.</summary>
    public SystemSettings Settings { get; }

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
        _directory.Delete(recursive: true);
    }

    private static string UrlOf(Relay relay) => string.Create(
        CultureInfo.InvariantCulture, $"http://127.0.0.1:{((IPEndPoint)relay.Address).Port}");

    private static Relay ToProcessor(int port) => new(
        new IPEndPoint(IPAddress.Loopback, 0), () => new IPEndPoint(IPAddress.Loopback, port));

    private Relay ToPostgres(Func<string> postgres, string part) => new(
        new UnixDomainSocketEndPoint(Path.Combine(_directory.CreateSubdirectory(part).FullName, PostgresSocket)),
        () => new UnixDomainSocketEndPoint(Path.Combine(postgres(), PostgresSocket)));
}
