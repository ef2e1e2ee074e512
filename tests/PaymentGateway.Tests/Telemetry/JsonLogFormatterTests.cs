using System.Reflection;

namespace PaymentGateway.Tests.Telemetry;

/// <summary>What stands in a line of the JSON log.</summary>
public sealed partial class JsonLogFormatterTests
{
    private static readonly Guid Id = Guid.Parse("4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3");

    private readonly GatheredLines _lines = new();
    private readonly ILogger _log;

    public JsonLogFormatterTests() => _log = LoggerFactory
        .Create(builder => builder.AddProvider(_lines.NewProvider()).SetMinimumLevel(LogLevel.Trace))
        .CreateLogger("PaymentGateway.Settling.OwnedPayments");

    [Fact]
    public void A_line_has_time_level_category_event_message_and_the_named_values()
    {
        var before = DateTime.UtcNow.AddMilliseconds(-1);
        Parked(_log, Id, 7, TimeSpan.FromSeconds(1.5), Processor.Default);

        var line = Single();

        var time = line.GetProperty("time").GetDateTime();
        Assert.Equal(DateTimeKind.Utc, time.Kind);
        Assert.InRange(time, before, DateTime.UtcNow);
        Assert.Matches(@"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", line.GetProperty("time").GetString());
        Assert.Equal("Warning", line.GetProperty("level").GetString());
        Assert.Equal("PaymentGateway.Settling.OwnedPayments", line.GetProperty("category").GetString());
        Assert.Equal(420, line.GetProperty("eventId").GetInt32());
        Assert.Equal("Parked", line.GetProperty("event").GetString());
        Assert.Equal($"Payment {Id}, 7, 00:00:01.5000000, Default", line.GetProperty("message").GetString());
        Assert.Equal(
            $$"""{"correlationId":"{{Id}}","count":7,"age":"00:00:01.5000000","processor":"Default"}""",
            line.GetProperty("values").GetRawText());
        Assert.Equal(
            ["time", "level", "category", "eventId", "event", "message", "values"],
            line.EnumerateObject().Select(member => member.Name));
    }

    [Fact]
    public void The_trace_is_named_when_there_is_one()
    {
        using var activity = new Activity("pay").SetIdFormat(ActivityIdFormat.W3C).Start();

        GoesOn(_log);

        var line = Single();
        Assert.Equal(activity.TraceId.ToHexString(), line.GetProperty("traceId").GetString());
        Assert.Equal(activity.SpanId.ToHexString(), line.GetProperty("spanId").GetString());
    }

    [Fact]
    public void A_payments_trace_is_named_when_its_request_is_over()
    {
        using var listener = new ActivityListener { ShouldListenTo = source => source.Name == PaymentTrace.SourceName };
        ActivitySource.AddActivityListener(listener);
        using var request = new Activity("request").SetIdFormat(ActivityIdFormat.W3C);
        request.ActivityTraceFlags = ActivityTraceFlags.Recorded;
        request.Start();
        var trace = PaymentTrace.OfRequest();
        request.Stop();

        InDoubt(_log, new Payment(Id, 1990, Batches.Noon, epoch: 1) { Trace = trace });
        InDoubt(_log, new Payment(Id, 1990, Batches.Noon, epoch: 1));

        var lines = _lines.Lines.Select(line => JsonDocument.Parse(line).RootElement).ToList();
        Assert.Equal(request.TraceId.ToHexString(), lines[0].GetProperty("traceId").GetString());
        Assert.Equal(request.SpanId.ToHexString(), lines[0].GetProperty("spanId").GetString());
        Assert.All(lines, line => Assert.Equal(
            $$"""{"correlationId":"{{Id}}"}""", line.GetProperty("values").GetRawText()));
        Assert.False(lines[1].TryGetProperty("traceId", out _));
    }

    [Fact]
    public void Each_event_of_settling_is_logged_with_its_payment_and_so_with_its_trace()
    {
        var named =
            from type in typeof(Payment).Assembly.GetTypes()
            where type.Namespace == "PaymentGateway.Settling"
            from message in type.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic)
            where message.GetCustomAttribute<LoggerMessageAttribute>() is not null
            from value in message.GetParameters()
            where value.Name == "correlationId"
            select value.ParameterType;

        Assert.NotEmpty(named);
        Assert.All(named, type => Assert.Equal(typeof(Payment), type));
    }

    [Fact]
    public void Scopes_are_named_from_the_outermost_in()
    {
        using (_log.BeginScope("outer"))
        using (_log.BeginScope(new Dictionary<string, object?> { ["Epoch"] = 5, ["Where"] = null }))
            GoesOn(_log);

        Assert.Equal("""["outer",{"epoch":5,"where":null}]""", Single().GetProperty("scopes").GetRawText());
    }

    [Fact]
    public void What_somebody_else_wrote_stays_within_its_value_and_its_line()
    {
        var hostile = "x\r\n{\"level\":\"Critical\"}\u001b[2J\u2028\u007f\"";

        Reason(_log, hostile, new InvalidOperationException(hostile));

        var text = _lines.Lines.Single();
        Assert.All(text[..^1], letter => Assert.InRange(letter, ' ', '~'));
        Assert.EndsWith("}\n", text, StringComparison.Ordinal);
        var line = Single();
        Assert.Equal("Error", line.GetProperty("level").GetString());
        Assert.Equal(hostile, line.GetProperty("values").GetProperty("reason").GetString());
        Assert.Contains(hostile, line.GetProperty("exception").GetString(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_message_without_values_has_none()
    {
        GoesOn(_log);

        Assert.False(Single().TryGetProperty("values", out _));
    }

    private JsonElement Single() => JsonDocument.Parse(_lines.Lines.Single()).RootElement;

    [LoggerMessage(420, LogLevel.Warning, "Payment {CorrelationId}, {Count}, {Age}, {Processor}")]
    private static partial void Parked(
        ILogger log, Guid correlationId, int count, TimeSpan age, Processor processor);

    [LoggerMessage(406, LogLevel.Debug, "Payment {CorrelationId} is in doubt")]
    private static partial void InDoubt(ILogger log, Payment correlationId);

    [LoggerMessage(1, LogLevel.Information, "It goes on")]
    private static partial void GoesOn(ILogger log);

    [LoggerMessage(900, LogLevel.Error, "It failed: {Reason}")]
    private static partial void Reason(ILogger log, string reason, Exception failed);
}
