using System.Security.Cryptography.X509Certificates;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A real nginx with nginx/tls.conf, a certificate of the test's own, and a gateway behind it.</summary>
public sealed class TlsTests : OwnRig
{
    private const string Listen = "        listen 9999 backlog=4096;\n";
    private const string Include = "        #include tls.conf;\n";
    private const byte Alert = 21;
    private const byte Handshake = 22;
    private const byte ProtocolVersion = 70;

    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);

    private readonly OwnNginx _nginx = OwnNginx.Prepare();
    private readonly X509Certificate2 _certificate = SelfSigned.Create();

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        if (GatewaySystemParts.SkipReason is not null)
            return;

        WriteConfiguration();
        await _nginx.StartAsync(await Rig.StartGatewayAsync());
    }

    public override async Task DisposeAsync()
    {
        await _nginx.DisposeAsync();
        await base.DisposeAsync();
        _certificate.Dispose();
    }

    [GatewaySystemFact]
    public async Task Payments_are_taken_by_https_and_browsers_are_told_to_stay_there()
    {
        using var https = Client("https");

        using var paid = await https.PostAsJsonAsync(
            "payments", new { correlationId = Guid.NewGuid(), amount = 19.90m });
        using var unknown = await https.GetAsync("nowhere");
        using var tooLarge = await https.PostAsync("payments", new StringContent(new string('x', 5_000)));

        Assert.Equal(HttpStatusCode.Accepted, paid.StatusCode);
        Assert.Equal(HttpStatusCode.NotFound, unknown.StatusCode);
        // nginx's own answer.
        Assert.Equal(HttpStatusCode.RequestEntityTooLarge, tooLarge.StatusCode);
        foreach (var answer in new[] { paid, unknown, tooLarge })
            Assert.Equal("max-age=31536000", answer.Headers.GetValues("Strict-Transport-Security").Single());
        await Rig.LedgersReachAsync(byDefault: 1);
    }

    [GatewaySystemFact]
    public async Task Plain_http_is_refused_on_the_same_port_and_nothing_is_stored()
    {
        using var http = Client("http");

        using var refused = await http.PostAsJsonAsync(
            "payments", new { correlationId = Guid.NewGuid(), amount = 19.90m });

        Assert.Equal(HttpStatusCode.BadRequest, refused.StatusCode);
        Assert.Equal("application/problem+json", refused.Content.Headers.ContentType?.MediaType);
        Assert.False(refused.Headers.Contains("Strict-Transport-Security"));
        Assert.Equal(0, await Rig.CountStoredAsync());
    }

    [GatewaySystemTheory]
    [InlineData(1, Alert)]
    [InlineData(2, Alert)]
    [InlineData(3, Handshake)]
    public async Task A_client_that_knows_nothing_newer_than_TLS_1_1_is_refused_for_its_version(
        byte minorVersion, byte expected)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await socket.ConnectAsync(IPAddress.Loopback, _nginx.Port);
        await socket.SendAsync(ClientHello(minorVersion));

        var answer = new byte[7];
        await using var stream = new NetworkStream(socket);
        await stream.ReadExactlyAsync(answer).AsTask().WaitAsync(Limit);

        Assert.Equal(expected, answer[0]);
        if (expected == Alert)
            Assert.Equal(ProtocolVersion, answer[6]);
    }

    // Written by hand, because no library of today asks for the old versions. RFC 5246, section 7.4.1.2: it offers the
    // suites of TLS 1.0 and 1.2 for an ECDSA certificate.
    private static byte[] ClientHello(byte minorVersion)
    {
        byte[] extensions =
        [
            0, 10, 0, 4, 0, 2, 0, 23, // supported_groups: secp256r1
            0, 11, 0, 2, 1, 0, // ec_point_formats: uncompressed
            0, 13, 0, 4, 0, 2, 4, 3, // signature_algorithms: ecdsa_secp256r1_sha256
        ];
        byte[] body =
        [
            3, minorVersion, .. new byte[32], 0, // random, no session
            0, 4, 0xC0, 0x0A, 0xC0, 0x2B, // ECDHE-ECDSA with AES256-SHA, and with AES128-GCM-SHA256
            1, 0, 0, (byte)extensions.Length, .. extensions,
        ];
        byte[] message = [1, 0, 0, (byte)body.Length, .. body];
        return [Handshake, 3, 1, 0, (byte)message.Length, .. message];
    }

    // The steps of docs/operations.md: one line out, one line in, certificate and key below tls/.
    private void WriteConfiguration()
    {
        _nginx.Write("nginx.conf", (Listen, ""), (Include, Include.Replace("#", "", StringComparison.Ordinal)));
        _nginx.Write("tls.conf", ("listen 9999", $"listen {_nginx.Port}"));
        var tls = Directory.CreateDirectory(Path.Combine(_nginx.Folder, "tls")).FullName;
        File.WriteAllText(Path.Combine(tls, "gateway.crt"), _certificate.ExportCertificatePem());
        File.WriteAllText(
            Path.Combine(tls, "gateway.key"), _certificate.GetECDsaPrivateKey()!.ExportPkcs8PrivateKeyPem());
    }

    private HttpClient Client(string scheme) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        SslOptions =
        {
            RemoteCertificateValidationCallback = (_, shown, _, _) => shown?.GetCertHashString()
                == _certificate.GetCertHashString(),
        },
    })
    {
        BaseAddress = new Uri($"{scheme}://127.0.0.1:{_nginx.Port}"),
    };
}
