using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.Cli;

/// <summary>`payments show` and `payments list`, and answers that are none of the contract.</summary>
public sealed class PaymentsVerbTests : IAsyncLifetime
{
    private const string Known = "4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3";
    private const string Unknown = "00000000-0000-4000-8000-000000000000";
    private const string Foreign = "00000000-0000-4000-8000-000000000001";
    private const string Moved = "00000000-0000-4000-8000-000000000002";

    private readonly WebApplication _gateway = Create();
    private readonly List<string> _asked = [];
    private int _redirected;

    public Task InitializeAsync()
    {
        _gateway.MapGet("/payments/{id}", (string id) => id == Known
            ? Results.Json(new { correlationId = id, amount = 19.90m, state = "settled", processor = "default" })
            : id == Foreign ? Results.Json(new { id, state = "shipped" })
            : id == Moved ? Results.Redirect("/elsewhere")
            : Results.Problem(
                "No accepted payment has this correlationId.", statusCode: 404,
                type: "urn:problem:payment-gateway:payment-not-found"));
        _gateway.MapPost("/admin/parked/{id}/replay", (string id) => id switch
        {
            Known => Results.Problem("There is no such order.", statusCode: 404),
            Unknown => Results.Problem("It was changed meanwhile.", statusCode: 409, type: "urn:problem:shop:changed"),
            _ => Results.Problem("Come back later.", statusCode: 503),
        });
        _gateway.MapGet("/admin/actions", () => Results.Json(new { error = false }));
        _gateway.MapPost("/admin/parked/replay", () => Results.Json(new { accepted = true }));
        _gateway.MapPost("/admin/reconciliations", () => Results.Problem(
            "There is nothing at this path.", statusCode: 404, type: "urn:problem:payment-gateway:not-found"));
        _gateway.MapGet("/payments", (HttpRequest request) =>
        {
            _asked.Add(request.QueryString.Value!);
            var after = int.Parse(request.Query["after"].FirstOrDefault() ?? "0");
            var count = Math.Min(int.Parse(request.Query["limit"]!), 450 - after);
            var next = after + count < 450 ? $"{after + count}" : null;
            return Results.Json(new
            {
                payments = Enumerable.Range(after, count).Select(at => at % 2 == 0
                    ? new { at, state = "settled", processor = (string?)"default" }
                    : (object)new { at, state = "accepted" }),
                next,
            });
        });
        _gateway.MapGet("/elsewhere", () => Interlocked.Increment(ref _redirected));
        _gateway.MapGet("/readyz", () => Results.Text("<html>welcome</html>"));
        return _gateway.StartAsync();
    }

    public async Task DisposeAsync() => await _gateway.DisposeAsync();

    [Fact]
    public async Task A_payment_is_shown_with_a_line_for_each_member_and_as_it_was_answered_in_JSON()
    {
        var text = await AskAsync("payments", "show", Known);
        var json = await AskAsync("payments", "show", Known, "--json");

        Assert.Equal(0, text.ExitCode);
        Assert.Equal(
            [$"correlationId  {Known}", "amount         19.90", "state          settled", "processor      default"],
            text.Output.Split(Environment.NewLine));
        Assert.Equal("19.90", json.ReadJson().GetProperty("amount").GetRawText());
    }

    [Theory]
    [InlineData($"payments show {Unknown}", 1, "No accepted payment")]
    [InlineData("reconcile", 64, "Gateway__Admin__Urls")] // A listener of payments.
    [InlineData("payments list --token a\nb", 64, "--token")]
    [InlineData($"parked replay {Foreign}", 69, "Come back later.")] // A proxy before the gateway.
    [InlineData("status", 70, "is this the gateway?")]
    [InlineData("purge --yes", 70, "is this the gateway?")] // A 404 without a problem.
    [InlineData($"payments show {Foreign}", 70, "is this the gateway?")] // An order, perhaps.
    [InlineData("actions", 70, "is this the gateway?")]
    [InlineData("parked replay --all", 70, "is this the gateway?")]
    [InlineData($"parked replay {Known}", 70, "is this the gateway?")] // A problem that is not ours.
    [InlineData($"parked replay {Unknown}", 70, "is this the gateway?")]
    public async Task An_answer_that_is_no_success_ends_a_verb_with_its_code(string verb, int exitCode, string why) =>
        (await AskAsync(verb.Split(' '))).AssertFailed(exitCode, why);

    [Fact]
    public async Task The_list_follows_its_cursors_up_to_the_limit_and_keeps_its_filters()
    {
        var all = await AskAsync("payments", "list", "--limit", "1000", "--json", "--state", "in_doubt");
        var some = await AskAsync("payments", "list", "--limit", "201", "--json");
        var exactly = await AskAsync("payments", "list", "--limit", "450", "--json");

        Assert.Equal(
            Enumerable.Range(0, 450),
            all.ReadJson().EnumerateArray().Select(row => row.GetProperty("at").GetInt32()));
        Assert.Equal((201, "more follow after --limit 201"), (some.ReadJson().GetArrayLength(), some.Error));
        Assert.Equal((450, ""), (exactly.ReadJson().GetArrayLength(), exactly.Error));
        Assert.Equal(
            ["?limit=200&state=in_doubt", "?limit=200&state=in_doubt&after=200", "?limit=200&state=in_doubt&after=400"],
            _asked.Take(3));
    }

    [Fact]
    public async Task A_table_has_a_column_for_what_only_some_rows_have()
    {
        var lines = (await AskAsync("payments", "list", "--limit", "2")).Output.Split(Environment.NewLine);

        Assert.Equal(["at  state     processor", "0   settled   default", "1   accepted  -"], lines);
    }

    [Fact]
    public async Task Redirections_are_not_followed_because_the_token_would_go_with_them()
    {
        (await AskAsync("payments", "show", Moved, "--token", "secret")).AssertFailed(70, "answered 302");

        Assert.Equal(0, _redirected);
    }

    // An endpoint's failure quotes what it sent, and a proxy may answer any problem.
    [Fact]
    public async Task Text_of_a_peer_reaches_the_terminal_as_visible_characters()
    {
        const string Hostile = @"\u001b]0;x\u0007\nfake\u202erow\u0000";
        await using var gateway = Create();
        gateway.MapGet("/admin/webhooks", () => Results.Text(
            $$"""{"webhooks":[{"name":"shop","failure":"{{Hostile}}"}]}"""));
        gateway.MapPost("/admin/webhooks/shop/test", () => Results.Text(
            $$"""{"type":"urn:problem:payment-gateway:webhook-not-found","detail":"{{Hostile}}"}""", statusCode: 404));
        await gateway.StartAsync();

        var list = await Verb.RunAsync("webhooks", "list", "--url", gateway.Urls.First());
        var test = await Verb.RunAsync("webhooks", "test", "shop", "--url", gateway.Urls.First());

        Assert.Equal(2, list.Output.Split(Environment.NewLine).Length);
        Assert.EndsWith("]0;x fake row", list.Output, StringComparison.Ordinal);
        test.AssertFailed(1, "]0;x fake row");
        Assert.DoesNotContain(list.Output.ReplaceLineEndings("") + test.Error, char.IsControl);
    }

    [Theory]
    [InlineData("status")]
    [InlineData("payments list")]
    [InlineData("parked replay --all")]
    [InlineData("purge --yes")]
    public async Task Without_a_gateway_a_verb_ends_with_69(string verb)
    {
        (await Verb.RunAsync([.. verb.Split(' '), "--url", "http://127.0.0.1:9"])).AssertFailed(69, "127.0.0.1:9");
        (await Verb.RunAsync([.. verb.Split(' '), "--url", "http://unix:/nowhere"])).AssertFailed(69, "/nowhere");
    }

    [Theory]
    [InlineData("nowhere")]
    [InlineData("ftp://localhost")]
    public async Task An_address_that_is_none_is_a_wrong_argument(string url) =>
        (await Verb.RunAsync("status", "--url", url)).AssertFailed(64, $"--url: '{url}'");

    private Task<Verb> AskAsync(params string[] verb) => Verb.RunAsync([.. verb, "--url", _gateway.Urls.First()]);

    private static WebApplication Create()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Logging.ClearProviders();
        return builder.Build();
    }
}
