using System.Security.Authentication;

namespace PaymentGateway.Tests.Storage;

public sealed class TransportSecurityTests : IAsyncLifetime
{
    // A network of this process, because PostgreSQL has TLS over TCP alone and other tests use its port too.
    private static readonly string Address =
        $"127.1.{Environment.ProcessId >> 8 & 255}.{Environment.ProcessId & 255}";

    private readonly string _otherCa = Path.GetTempFileName();
    private PostgresServer _server = null!;

    public async Task InitializeAsync()
    {
        _server = await PostgresServer.StartAsync(listen: Address);
        // The server's user runs it in the data directory.
        await _server.ExecuteAsync($"""
            COPY (SELECT 1) TO PROGRAM 'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
              -days 1 -subj /CN=postgres -addext subjectAltName=IP:{Address} -keyout server.key -out server.crt \
              2>openssl.log && cp server.crt ../ca.crt && echo hostssl all all {Address}/32 trust >>pg_hba.conf'
            """);
        await _server.ExecuteAsync("ALTER SYSTEM SET ssl = on");
        await _server.ExecuteAsync("SELECT pg_reload_conf()");
        using var other = SelfSigned.Create();
        await File.WriteAllTextAsync(_otherCa, other.ExportCertificatePem());
    }

    public async Task DisposeAsync()
    {
        File.Delete(_otherCa);
        if (_server is not null)
            await _server.DisposeAsync();
    }

    [PostgresFact]
    public async Task Connections_are_encrypted_once_the_server_is_known_by_its_authority_and_refused_otherwise()
    {
        await using var known = Source(Path.Combine(_server.Directory, "ca.crt"));
        await using var unknown = Source(_otherCa);
        await Eventually.HoldsAsync(() => IsEncryptedAsync(known), "PostgreSQL has read its certificate");

        var refused = await Assert.ThrowsAsync<NpgsqlException>(async () => await unknown.OpenConnectionAsync());

        Assert.IsType<AuthenticationException>(refused.InnerException);
    }

    private static NpgsqlDataSource Source(string authority) => LedgerSetup.DataSource(
        $"Host={Address};Username=postgres;Database=postgres;SSL Mode=VerifyFull;Root Certificate={authority}");

    private static async Task<bool> IsEncryptedAsync(NpgsqlDataSource source)
    {
        try
        {
            await using var command = source.CreateCommand(
                "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
            return (bool)(await command.ExecuteScalarAsync())!;
        }
        catch (NpgsqlException)
        {
            return false;
        }
    }
}
