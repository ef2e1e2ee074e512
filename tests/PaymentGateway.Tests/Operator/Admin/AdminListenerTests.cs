using Microsoft.AspNetCore.Routing;
using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class AdminListenerTests : OwnRig
{
    private static readonly HttpMethod[] Methods =
    [
        HttpMethod.Get, HttpMethod.Head, HttpMethod.Post, HttpMethod.Put, HttpMethod.Patch, HttpMethod.Delete,
        HttpMethod.Options,
    ];

    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("gateway-admin");

    private string AdminSocket => Path.Combine(_directory.FullName, "admin.sock");

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        _directory.Delete(recursive: true);
    }

    [PostgresTheory]
    [InlineData("socket")]
    [InlineData("port")]
    [InlineData(null)]
    public async Task An_operators_calls_are_answered_by_a_listener_of_their_own_only(string? listener)
    {
        var port = GatewaySystemSettings.FreePort();
        var url = listener == "socket" ? $"http://unix:{AdminSocket}" : $"http://127.0.0.1:{port}";
        var gateway = await Rig.StartGatewayAsync($"Admin:Urls={(listener is null ? "" : url)}");
        using var admin = listener == "socket" ? UnixHttp.To(AdminSocket) : Client(port);

        await AreHiddenAsync(gateway, ("Host", $"127.0.0.1:{port}"), ("X-Forwarded-Host", $"127.0.0.1:{port}"));
        if (listener is not null)
            await AreAnsweredAsync(admin);
        await gateway.PayAsync();
    }

    [PostgresTheory]
    [InlineData("evil.example", false)]
    [InlineData("evil.example:9101", false)]
    [InlineData("127.0.0.1.evil.example", false)]
    [InlineData("LOCALHOST", true)]
    [InlineData("localhost:9101", true)]
    [InlineData("10.0.0.11:9101", true)]
    [InlineData("[::1]:9101", true)]
    public async Task An_unknown_host_is_refused_on_a_port_without_a_token(string host, bool isKnown)
    {
        var port = GatewaySystemSettings.FreePort();
        var gateway = await Rig.StartGatewayAsync($"Admin:Urls=http://127.0.0.1:{port}", "Admin:Purge=Everyone");
        var id = await gateway.PayAsync();
        using var admin = Client(port);
        var expected = isKnown ? HttpStatusCode.OK : HttpStatusCode.Forbidden;

        // What everybody may read and pay elsewhere is among them.
        foreach (var path in new[]
        {
            "ops", "admin/actions", "payments", $"payments/{id}", "metrics", "payments-summary", "readyz", "docs", "",
        })
            Assert.Equal((path, expected), (path, await StatusAsync(admin, HttpMethod.Get, path, host)));
        Assert.Equal(
            isKnown ? HttpStatusCode.UnsupportedMediaType : expected,
            await StatusAsync(admin, HttpMethod.Post, "payments", host));
        Assert.Equal(
            isKnown ? HttpStatusCode.NotFound : expected, await StatusAsync(admin, HttpMethod.Get, "nowhere", host));
        Assert.Equal(expected, await StatusAsync(admin, HttpMethod.Post, "purge-payments", host));
        // By the payments' socket nginx asks, and names itself.
        using var client = UnixHttp.To(gateway.Socket);
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(client, HttpMethod.Post, "purge-payments", host));
    }

    [PostgresFact]
    public async Task The_host_of_the_setting_is_known()
    {
        var port = GatewaySystemSettings.FreePort();
        await Rig.StartGatewayAsync($"Admin:Urls=http://gateway.example:{port}", "Admin:WithoutToken=Anywhere");
        using var admin = Client(port);

        Assert.Equal(
            HttpStatusCode.OK, await StatusAsync(admin, HttpMethod.Get, "admin/actions", $"Gateway.example:{port}"));
        Assert.Equal(
            HttpStatusCode.Forbidden, await StatusAsync(admin, HttpMethod.Get, "admin/actions", "other.example"));
    }

    [PostgresFact]
    public async Task Every_host_is_known_where_a_token_is_set()
    {
        var port = GatewaySystemSettings.FreePort();
        await Rig.StartGatewayAsync($"Admin:Urls=http://127.0.0.1:{port}", "Admin:Token=secret");
        using var admin = Client(port);

        Assert.Equal(
            HttpStatusCode.Unauthorized, await StatusAsync(admin, HttpMethod.Get, "admin/actions", "gateway.example"));
        admin.DefaultRequestHeaders.Add("X-Rinha-Token", "secret");
        Assert.Equal(HttpStatusCode.OK, await StatusAsync(admin, HttpMethod.Get, "admin/actions", "gateway.example"));
    }

    [PostgresTheory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task All_payments_are_listed_there_only_and_one_is_shown_to_whoever_knows_its_id(bool hasListener)
    {
        var gateway = await Rig.StartGatewayAsync(
            hasListener ? $"Admin:Urls=http://unix:{AdminSocket}" : "Admin:Urls=");
        var id = await gateway.PayAsync();

        var (status, body, _) = await AnswerAsync(gateway, HttpMethod.Get, "/payments");
        Assert.Equal(HttpStatusCode.NotFound, status);
        Assert.Contains("urn:problem:payment-gateway:not-found", body, StringComparison.Ordinal);
        Assert.DoesNotContain($"{id}", body, StringComparison.Ordinal);
        Assert.Contains($"{id}", await gateway.GetAsync($"payments/{id}"), StringComparison.Ordinal);
        if (!hasListener)
            return;

        using var admin = UnixHttp.To(AdminSocket);
        Assert.Contains($"{id}", await admin.GetStringAsync("payments"), StringComparison.Ordinal);
        Assert.Contains($"{id}", await admin.GetStringAsync($"payments/{id}"), StringComparison.Ordinal);
    }

    [PostgresFact]
    public async Task Everyone_may_connect_to_the_payments_socket_and_only_owner_and_group_to_the_other()
    {
        var gateway = await Rig.StartGatewayAsync($"Admin:Urls=http://unix:{AdminSocket}");

        const UnixFileMode Group = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead
            | UnixFileMode.GroupWrite;
        Assert.Equal(Group, File.GetUnixFileMode(AdminSocket));
        Assert.Equal(Group | UnixFileMode.OtherRead | UnixFileMode.OtherWrite, File.GetUnixFileMode(gateway.Socket));
    }

    private static HttpClient Client(string port) => UnixHttp.Plain(new Uri($"http://127.0.0.1:{port}"));

    // Each path by every method, just as a path that never was, whatever the headers say.
    private static async Task AreHiddenAsync(GatewayHost gateway, params (string Name, string Value)[] headers)
    {
        var paths = PathsOf(gateway);
        Assert.Superset(
            new HashSet<string> { "/purge-payments", "/admin/actions", "/ops/events" }, paths);
        foreach (var method in Methods)
        {
            var unknown = await AnswerAsync(gateway, method, "/no-such-path", headers);
            foreach (var path in paths)
                Assert.Equal((path, unknown), (path, await AnswerAsync(gateway, method, path, headers)));
        }
    }

    private static async Task<(HttpStatusCode Status, string Body, string? Allow)> AnswerAsync(
        GatewayHost gateway, HttpMethod method, string path, params (string Name, string Value)[] headers)
    {
        using var answer = await gateway.SendAsync(method, path, headers);
        return (
            answer.StatusCode, await answer.Content.ReadAsStringAsync(),
            string.Join(",", answer.Content.Headers.Allow));
    }

    private static async Task<HttpStatusCode> StatusAsync(
        HttpClient client, HttpMethod method, string path, string host)
    {
        using var request = new HttpRequestMessage(method, path);
        request.Headers.Host = host;
        // As a browser sends it for a page that has this host.
        if (method == HttpMethod.Post)
            request.Headers.Add("Origin", $"http://{host}");
        using var answer = await client.SendAsync(request);
        return answer.StatusCode;
    }

    private static async Task AreAnsweredAsync(HttpClient admin)
    {
        Assert.Contains("\"actions\":[", await admin.GetStringAsync("admin/actions"), StringComparison.Ordinal);
        using var purged = await admin.PostAsync("purge-payments", null);
        Assert.Equal(HttpStatusCode.OK, purged.StatusCode);
        using var wrong = await admin.GetAsync("purge-payments");
        Assert.Equal(HttpStatusCode.MethodNotAllowed, wrong.StatusCode);
        Assert.Equal(["POST"], wrong.Content.Headers.Allow);
    }

    private static HashSet<string> PathsOf(GatewayHost gateway) => gateway.Part<EndpointDataSource>().Endpoints
        .OfType<RouteEndpoint>().Where(endpoint => endpoint.Metadata.Contains(AdminListener.Only))
        .Select(endpoint => endpoint.RoutePattern.RawText!.Replace(
            "{id}", "4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3", StringComparison.Ordinal))
        .ToHashSet();
}
