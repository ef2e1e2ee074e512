using System.Net;
using System.Net.Http.Headers;
using System.Text;
using System.Text.Json;
using Microsoft.Extensions.Logging;
using PaymentGateway.Logging;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Logging;

/// <summary>Levels of the log that an operator changes while a gateway runs.</summary>
public sealed class LoggingEndpointsTests : IAsyncLifetime
{
    private const string Settling = "PaymentGateway.Settling.SettlementWorker";

    private readonly GatheredLines _lines = new();
    private GatewayRig _rig = null!;
    private GatewayHost _gateway = null!;

    public async Task InitializeAsync()
    {
        _rig = await GatewayRig.StartAsync(new TestDatabase());
        _gateway = await _rig.StartGatewayAsync("Instance:Name=api7");
        _gateway.Part<ILoggerFactory>().AddProvider(_lines.NewProvider());
    }

    public async Task DisposeAsync() => await _rig.DisposeAsync();

    [PostgresFact]
    public async Task A_level_holds_from_its_change_on_and_for_its_category_only()
    {
        var (settling, leasing) = (LoggerOf(Settling), LoggerOf("PaymentGateway.Leasing.LeaseKeeper"));
        Assert.False(settling.IsEnabled(LogLevel.Critical));

        var answer = await ChangesAsync("""{"category":"PaymentGateway.Settling","level":"debug"}""");

        Assert.Equal("Debug", answer.GetProperty("categories").GetProperty("PaymentGateway.Settling").GetString());
        Assert.True(settling.IsEnabled(LogLevel.Debug));
        Assert.False(settling.IsEnabled(LogLevel.Trace));
        Assert.False(leasing.IsEnabled(LogLevel.Critical));

        await ChangesAsync("""{"level":"Error"}""");

        Assert.True(leasing.IsEnabled(LogLevel.Error));
        Assert.False(leasing.IsEnabled(LogLevel.Warning));
        Assert.True(settling.IsEnabled(LogLevel.Debug));
    }

    [PostgresFact]
    public async Task Debug_tells_the_steps_of_a_payment_that_was_refused()
    {
        await ChangesAsync("""{"category":"PaymentGateway.Settling","level":"Debug"}""");
        await _rig.Default.SetFaultsAsync(new { tooMany = true, times = 1 });

        var id = await _gateway.PayAsync();

        await _rig.LedgersReachAsync(byDefault: 1);
        Assert.Contains(_lines.Lines, line => line.Contains($"\"correlationId\":\"{id}\"", StringComparison.Ordinal)
            && line.Contains("\"event\":\"Refused\"", StringComparison.Ordinal));
    }

    [PostgresFact]
    public async Task The_levels_of_the_start_come_back_with_a_delete()
    {
        var atStart = await LevelsAsync();
        await ChangesAsync("""{"level":"Trace"}""");
        await ChangesAsync("""{"category":"Microsoft","level":"Information"}""");
        Assert.NotEqual(atStart, await LevelsAsync());

        using var answer = await _gateway.SendAsync(HttpMethod.Delete, LoggingEndpoints.Path);

        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        Assert.Equal(atStart, await LevelsAsync());
        Assert.False(LoggerOf(Settling).IsEnabled(LogLevel.Critical));
        Assert.True(LoggerOf("Microsoft.AspNetCore.Server.Kestrel").IsEnabled(LogLevel.Warning));
        Assert.False(LoggerOf("Microsoft.AspNetCore.Server.Kestrel").IsEnabled(LogLevel.Information));
    }

    [PostgresFact]
    public async Task The_answer_names_the_instance_and_every_level()
    {
        Assert.Equal(
            """
            {"instance":"api7","level":"None","categories":{"Microsoft":"Warning",
            "Microsoft.AspNetCore.Hosting.Diagnostics":"None","Microsoft.Extensions.Hosting.Internal.Host":"None",
            "System":"Warning"}}
            """.Replace("\n", "", StringComparison.Ordinal),
            await LevelsAsync());
    }

    [PostgresFact]
    public async Task A_change_is_told_in_the_log_and_counts_for_this_instance_only()
    {
        var other = await _rig.StartGatewayAsync();
        var before = await other.GetAsync(LoggingEndpoints.Path);

        await ChangesAsync("""{"level":"Information"}""");

        Assert.Contains(_lines.Lines, line =>
            line.Contains("The log level of Default is Information now", StringComparison.Ordinal));
        Assert.Equal(before, await other.GetAsync(LoggingEndpoints.Path));
    }

    [PostgresTheory]
    [InlineData("", null)]
    [InlineData("nonsense", null)]
    [InlineData("null", null)]
    [InlineData("[]", null)]
    [InlineData("{}", "level")]
    [InlineData("""{"level":null}""", "level")]
    [InlineData("""{"level":""}""", "level")]
    [InlineData("""{"level":"Loud"}""", "level")]
    [InlineData("""{"level":"1"}""", "level")]
    [InlineData("""{"level":1}""", "level")]
    [InlineData("""{"level":"Debug,Warning"}""", "level")]
    [InlineData("""{"level":"Debug "}""", "level")]
    [InlineData("""{"level":"Debug","categroy":"PaymentGateway"}""", "categroy")]
    [InlineData("""{"level":"Debug","category":""}""", "category")]
    [InlineData("""{"level":"Debug","category":"Payment Gateway"}""", "category")]
    [InlineData("""{"level":"Debug","category":"A:B"}""", "category")]
    [InlineData("""{"level":"Debug","category":7}""", "category")]
    [InlineData("""{"level":"Debug","category":"A*B*C"}""", "category")]
    public async Task A_wrong_body_is_refused_by_its_field_and_changes_nothing(string body, string? field)
    {
        var before = await LevelsAsync();

        using var answer = await PutAsync(body);

        Assert.Equal(HttpStatusCode.BadRequest, answer.StatusCode);
        Assert.Equal("application/problem+json", answer.Content.Headers.ContentType?.MediaType);
        using var problem = JsonDocument.Parse(await answer.Content.ReadAsStringAsync());
        Assert.Equal(
            field, problem.RootElement.TryGetProperty("field", out var named) ? named.GetString() : null);
        Assert.Equal(before, await LevelsAsync());
    }

    [PostgresFact]
    public async Task Another_media_type_is_refused_and_an_unknown_charset_is_no_failure()
    {
        using var text = await PutAsync("""{"level":"Debug"}""", "text/plain");
        using var odd = await PutAsync("""{"level":"Error"}""", "application/json; charset=odd");

        Assert.Equal(HttpStatusCode.UnsupportedMediaType, text.StatusCode);
        Assert.Equal(HttpStatusCode.OK, odd.StatusCode);
    }

    [PostgresFact]
    public async Task Only_so_many_categories_have_a_level_of_their_own()
    {
        HttpStatusCode last = HttpStatusCode.OK;
        for (var i = 0; i < LogLevels.CategoriesMax + 5 && last == HttpStatusCode.OK; i++)
        {
            using var answer = await PutAsync($$"""{"level":"Debug","category":"Some.Category{{i}}"}""");
            last = answer.StatusCode;
        }

        Assert.Equal(HttpStatusCode.BadRequest, last);
        using var known = await PutAsync("""{"level":"Error","category":"Some.Category1"}""");
        Assert.Equal(HttpStatusCode.OK, known.StatusCode);
    }

    [PostgresFact]
    public async Task Without_the_token_nothing_is_told_or_changed()
    {
        var guarded = await _rig.StartGatewayAsync("Admin:Token=secret");

        foreach (var method in new[] { HttpMethod.Get, HttpMethod.Put, HttpMethod.Delete })
        {
            using var answer = await guarded.SendAsync(method, LoggingEndpoints.Path);
            Assert.Equal(HttpStatusCode.Unauthorized, answer.StatusCode);
        }
    }

    private ILogger LoggerOf(string category) => _gateway.Part<ILoggerFactory>().CreateLogger(category);

    private Task<string> LevelsAsync() => _gateway.GetAsync(LoggingEndpoints.Path);

    private async Task<JsonElement> ChangesAsync(string body)
    {
        using var answer = await PutAsync(body);
        Assert.Equal(HttpStatusCode.OK, answer.StatusCode);
        return JsonDocument.Parse(await answer.Content.ReadAsStringAsync()).RootElement;
    }

    private async Task<HttpResponseMessage> PutAsync(string body, string mediaType = "application/json")
    {
        using var content = new ByteArrayContent(Encoding.UTF8.GetBytes(body));
        content.Headers.ContentType = MediaTypeHeaderValue.Parse(mediaType);
        return await _gateway.PutAsync(LoggingEndpoints.Path, content);
    }
}
