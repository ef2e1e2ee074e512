using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A real nginx with tls.conf and mtls.conf, a company's own signer, and a gateway behind it.</summary>
public sealed class MutualTlsTests : OwnRig
{
    private const string Kiosk = "a token of the kiosk";

    private static readonly string[] Settings =
    [
        "Admin:Tokens:shop:Role=Pay", "Admin:Tokens:shop:Subject=CN=shop,O=Example",
        "Admin:Tokens:kiosk:Role=Pay", $"Admin:Tokens:kiosk:Token={Kiosk}",
    ];

    private readonly OwnNginx _nginx = OwnNginx.Prepare();
    private readonly X509Certificate2 _server = SelfSigned.Create();
    private readonly ECDsa _key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
    private X509Certificate2 _signer = null!;
    private GatewayHost _gateway = null!;

    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        var authority = new CertificateRequest("CN=company", _key, HashAlgorithmName.SHA256);
        authority.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        _signer = authority.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(2));
        _gateway = await Rig.StartGatewayAsync(Settings);
        await StartNginxAsync();
    }

    public override async Task DisposeAsync()
    {
        await _nginx.DisposeAsync();
        await base.DisposeAsync();
        foreach (var one in new IDisposable[] { _server, _key, _signer })
            one.Dispose();
    }

    [GatewaySystemFact]
    public async Task A_certificate_names_the_payer_and_no_header_of_its_client_does()
    {
        using var shop = Client(Certificate("CN=shop, O=Example"));
        using var stranger = Client(Certificate("CN=stranger, O=Example"));

        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(shop));
        Assert.Equal(HttpStatusCode.Unauthorized, await PayAsync(stranger));
        Assert.Equal(
            HttpStatusCode.Unauthorized, await PayAsync(stranger, ("X-Client-Subject", "CN=shop,O=Example")));
        Assert.Equal(HttpStatusCode.Unauthorized, await PayAsync(stranger, ("X-Rinha-Token", "CN=shop,O=Example")));
        // A token counts before a certificate.
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(stranger, ("X-Rinha-Token", Kiosk)));
        Assert.Equal(["kiosk", "shop"], await PayersAsync());
        Assert.Equal(
            "GET /payments-summary", await RefusalOfAsync(shop, "payments-summary"));
    }

    [GatewaySystemFact]
    public async Task Without_a_certificate_or_with_a_strangers_nothing_passes()
    {
        using var none = Client(null);
        using var own = SelfSigned.Create();
        using var forged = Client(own);

        Assert.Equal(HttpStatusCode.BadRequest, await PayAsync(none, ("X-Client-Subject", "CN=shop,O=Example")));
        Assert.Equal(HttpStatusCode.BadRequest, await PayAsync(forged));
        // nginx itself refuses these, and the line has the call as it came.
        Assert.All(await RefusalsAsync(2), line => Assert.Matches(@"^\S+ 400 \S+ .* POST /payments$", line));
        Assert.Equal(0, await Rig.CountStoredAsync());
    }

    [GatewaySystemFact]
    public async Task A_subject_that_comes_by_TCP_is_nobodys()
    {
        var port = GatewaySystemSettings.FreePort();
        await Rig.StartGatewayAsync([.. Settings, $"Admin:Urls=http://127.0.0.1:{port}"]);
        using var client = UnixHttp.Plain(new Uri($"http://127.0.0.1:{port}"));
        using var bySocket = UnixHttp.To(_gateway.Socket);

        Assert.Equal(HttpStatusCode.Unauthorized, await PayAsync(client, ("X-Client-Subject", "CN=shop,O=Example")));
        // By its socket, which only nginx may enter.
        Assert.Equal(HttpStatusCode.Accepted, await PayAsync(bySocket, ("X-Client-Subject", "CN=shop,O=Example")));
    }

    private async Task StartNginxAsync()
    {
        _nginx.Write(
            "nginx.conf", ("        listen 9999 backlog=4096;\n", ""), ("#include tls.conf;", "include tls.conf;"),
            ("#include mtls.conf;", "include mtls.conf;"));
        _nginx.Write("tls.conf", ("listen 9999", $"listen {_nginx.Port}"));
        _nginx.Write("mtls.conf");
        _nginx.Write("refusals.conf", ("/dev/stdout", "refused.log"));
        var tls = Directory.CreateDirectory(Path.Combine(_nginx.Folder, "tls")).FullName;
        await File.WriteAllTextAsync(Path.Combine(tls, "gateway.crt"), _server.ExportCertificatePem());
        await File.WriteAllTextAsync(
            Path.Combine(tls, "gateway.key"), _server.GetECDsaPrivateKey()!.ExportPkcs8PrivateKeyPem());
        await File.WriteAllTextAsync(Path.Combine(tls, "clients.crt"), _signer.ExportCertificatePem());
        await _nginx.StartAsync(_gateway);
    }

    private X509Certificate2 Certificate(string subject)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        // Written backwards, as .NET does: nginx shows the last part first.
        var name = new X500DistinguishedName(subject, X500DistinguishedNameFlags.Reversed);
        using var signed = new CertificateRequest(name, key, HashAlgorithmName.SHA256).Create(
            _signer, DateTimeOffset.UtcNow.AddHours(-1), DateTimeOffset.UtcNow.AddDays(1), [1, 2, 3]);
        return signed.CopyWithPrivateKey(key);
    }

    private HttpClient Client(X509Certificate2? certificate) => new(new SocketsHttpHandler
    {
        UseProxy = false,
        SslOptions =
        {
            ClientCertificates = certificate is null ? [] : [certificate],
            LocalCertificateSelectionCallback = (_, _, _, _, _) => certificate!,
            RemoteCertificateValidationCallback = (_, shown, _, _) => shown?.GetCertHashString()
                == _server.GetCertHashString(),
        },
    })
    {
        BaseAddress = new Uri($"https://127.0.0.1:{_nginx.Port}"),
    };

    private static async Task<HttpStatusCode> PayAsync(HttpClient client, params (string Name, string Value)[] headers)
    {
        using var request = new HttpRequestMessage(HttpMethod.Post, "payments?token=in-a-query");
        request.Content = JsonContent.Create(new { correlationId = Guid.NewGuid(), amount = 19.90m });
        foreach (var (name, value) in headers)
            request.Headers.Add(name, value);
        using var answer = await client.SendAsync(request);
        Assert.False(answer.Headers.Contains("X-Payer"));
        return answer.StatusCode;
    }

    private async Task<string[]> PayersAsync() => (await Rig.Database.ScalarAsync<string>("""
        SELECT string_agg(name, ',' ORDER BY name) FROM payers WHERE id IN (SELECT payer FROM payments)
        """)).Split(',');

    // The log of nginx has a line of each refusal, without its query, and none of an accepted payment.
    private async Task<string> RefusalOfAsync(HttpClient client, string path)
    {
        using var refused = await client.GetAsync($"{path}?token=in-a-query");
        Assert.Equal(HttpStatusCode.Forbidden, refused.StatusCode);
        var lines = await RefusalsAsync(4);
        Assert.Matches(@"^\S+ 401 127\.0\.0\.1 payer=- subject=""CN=stranger,O=Example"" POST /payments$", lines[0]);
        Assert.Matches(@"^\S+ 403 127\.0\.0\.1 payer=- subject=""CN=shop,O=Example"" GET /payments-summary$", lines[3]);
        return lines[3].Split('"')[2].Trim();
    }

    private async Task<string[]> RefusalsAsync(int count)
    {
        string[] lines = [];
        await Eventually.HoldsAsync(
            async () =>
                (lines = await File.ReadAllLinesAsync(Path.Combine(_nginx.Folder, "refused.log"))).Length == count,
            $"{count} lines");
        Assert.DoesNotContain("in-a-query", string.Concat(lines), StringComparison.Ordinal);
        return lines;
    }
}
