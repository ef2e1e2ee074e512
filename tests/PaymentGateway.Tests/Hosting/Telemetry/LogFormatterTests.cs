using System.Reflection;

namespace PaymentGateway.Tests.Hosting.Telemetry;

public sealed partial class LogFormatterTests
{
    private const string Category = "PaymentGateway.Charging.OwnedPayments";
    private static readonly Guid Id = Guid.Parse("4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3");

    private readonly GatheredLines _text = new(new LogFormatter(LogFormat.Text, TimeProvider.System));
    private readonly GatheredLines _json = new();
    private readonly ILogger _log;

    public LogFormatterTests() => _log = LoggerFactory.Create(builder => builder
        .AddProvider(_text.NewProvider()).AddProvider(_json.NewProvider()).SetMinimumLevel(LogLevel.Trace))
        .CreateLogger(Category);

    [Theory]
    [InlineData(LogLevel.Trace, "trce")]
    [InlineData(LogLevel.Debug, "dbug")]
    [InlineData(LogLevel.Information, "info")]
    [InlineData(LogLevel.Warning, "warn")]
    [InlineData(LogLevel.Error, "fail")]
    [InlineData(LogLevel.Critical, "crit")]
    public void Text_line_has_time_level_category_event_and_message(LogLevel level, string name)
    {
        Said(_log, level, "zwölf");

        Assert.Matches(
            @"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z " + name
                + @": PaymentGateway\.Charging\.OwnedPayments\[420\] It said: zwölf\n$",
            _text.Lines.Single());
        Assert.Equal($"{level}", Json().GetProperty("level").GetString());
    }

    [Fact]
    public void Json_line_has_time_level_category_event_message_and_the_named_values()
    {
        var before = DateTime.UtcNow.AddMilliseconds(-1);
        Parked(_log, Id, 7, TimeSpan.FromSeconds(1.5), Known.Default);

        var line = Json();

        Assert.InRange(line.GetProperty("time").GetDateTime(), before, DateTime.UtcNow);
        Assert.Matches(@"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$", line.GetProperty("time").GetString());
        Assert.Equal("Warning", line.GetProperty("level").GetString());
        Assert.Equal(Category, line.GetProperty("category").GetString());
        Assert.Equal(421, line.GetProperty("eventId").GetInt32());
        Assert.Equal("Parked", line.GetProperty("event").GetString());
        Assert.Equal($"Payment {Id}, 7, 00:00:01.5000000, default", line.GetProperty("message").GetString());
        Assert.Equal(
            $$"""{"correlationId":"{{Id}}","count":7,"age":"00:00:01.5000000","processor":"default"}""",
            line.GetProperty("values").GetRawText());
        Assert.Equal(
            ["time", "level", "category", "eventId", "event", "message", "values"],
            line.EnumerateObject().Select(member => member.Name));
    }

    [Fact]
    public void Json_line_names_the_trace_when_there_is_one_and_has_no_values_without_any()
    {
        using var activity = new Activity("pay").SetIdFormat(ActivityIdFormat.W3C).Start();

        GoesOn(_log);

        Assert.Equal(activity.TraceId.ToHexString(), Json().GetProperty("traceId").GetString());
        Assert.Equal(activity.SpanId.ToHexString(), Json().GetProperty("spanId").GetString());
        Assert.False(Json().TryGetProperty("values", out _));
    }

    [Fact]
    public void Json_line_names_a_payments_trace_when_its_request_is_over()
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

        var lines = _json.Lines.Select(line => JsonDocument.Parse(line).RootElement).ToList();
        Assert.Equal(request.TraceId.ToHexString(), lines[0].GetProperty("traceId").GetString());
        Assert.Equal(request.SpanId.ToHexString(), lines[0].GetProperty("spanId").GetString());
        Assert.All(lines, line => Assert.Equal(
            $$"""{"correlationId":"{{Id}}"}""", line.GetProperty("values").GetRawText()));
        Assert.False(lines[1].TryGetProperty("traceId", out _));
    }

    [Fact]
    public void Json_line_has_the_last_of_two_values_of_one_name()
    {
        List<KeyValuePair<string, object?>> twice = [new("Id", 1), new("id", 2)];

        _log.Log(LogLevel.Information, default, twice, null, static (_, _) => "twice");

        Assert.Equal("""{"id":2}""", Json().GetProperty("values").GetRawText());
    }

    [Fact]
    public void Events_of_settling_are_logged_with_their_payment_and_so_with_its_trace()
    {
        var named =
            from message in Messages()
            where message.DeclaringType!.Namespace == "PaymentGateway.Charging"
            from value in message.GetParameters()
            where value.Name == "correlationId"
            select value.ParameterType;

        Assert.NotEmpty(named);
        Assert.All(named, type => Assert.Equal(typeof(Payment), type));
    }

    [Fact]
    public void Hostile_text_stays_on_its_line_and_moves_no_cursor()
    {
        const string Hostile = "x\r\n2026-11-23 fail: forged\u001b[2J\u009b1A\u2028\u202eend\u007f\"";

        Reason(_log, Hostile, new InvalidOperationException(Hostile));

        var line = _text.Lines.Single();
        Assert.EndsWith("\n", line, StringComparison.Ordinal);
        Assert.DoesNotContain(line[..^1], letter => char.IsControl(letter)
            || char.GetUnicodeCategory(letter) is UnicodeCategory.Format or UnicodeCategory.LineSeparator);
        Assert.Contains("x 2026-11-23 fail: forged [2J 1A end", line, StringComparison.Ordinal);
        Assert.Contains("InvalidOperationException: x 2026", line, StringComparison.Ordinal);
        Assert.All(_json.Lines.Single()[..^1], letter => Assert.InRange(letter, ' ', '~'));
        Assert.EndsWith("}\n", _json.Lines.Single(), StringComparison.Ordinal);
        Assert.Equal("Error", Json().GetProperty("level").GetString());
        Assert.Equal(Hostile, Json().GetProperty("values").GetProperty("reason").GetString());
        Assert.Contains(Hostile, Json().GetProperty("exception").GetString(), StringComparison.Ordinal);
    }

    [Fact]
    public void Times_in_messages_are_ISO_8601_and_durations_are_numbers_with_a_unit()
    {
        var at = new DateTime(2026, 11, 24, 10, 5, 6, DateTimeKind.Utc);
        var ofTimes = Messages().Where(message => Has<DateTime>(message) || Has<DateTime?>(message)).ToList();

        foreach (var message in ofTimes)
            message.Invoke(null, [_log, at]);

        Assert.NotEmpty(ofTimes);
        Assert.Equal(ofTimes.Count, _text.Lines.Count);
        Assert.All(_text.Lines, line => Assert.Contains(" 2026-11-24T10:05:06Z", line, StringComparison.Ordinal));
        Assert.DoesNotContain(Messages(), Has<TimeSpan>);
    }

    private static List<MethodInfo> Messages() => typeof(Payment).Assembly.GetTypes()
        .SelectMany(type => type.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic))
        .Where(method => method.GetCustomAttribute<LoggerMessageAttribute>() is not null).ToList();

    private static bool Has<T>(MethodInfo message) =>
        message.GetParameters().Any(parameter => parameter.ParameterType == typeof(T));

    private JsonElement Json() => JsonDocument.Parse(_json.Lines.Single()).RootElement;

    [LoggerMessage(EventId = 420, Message = "It said: {What}")]
    private static partial void Said(ILogger log, LogLevel level, string what);

    [LoggerMessage(421, LogLevel.Warning, "Payment {CorrelationId}, {Count}, {Age}, {Processor}")]
    private static partial void Parked(
        ILogger log, Guid correlationId, int count, TimeSpan age, Processor processor);

    [LoggerMessage(406, LogLevel.Debug, "Payment {CorrelationId} is in doubt")]
    private static partial void InDoubt(ILogger log, Payment correlationId);

    [LoggerMessage(1, LogLevel.Information, "It goes on")]
    private static partial void GoesOn(ILogger log);

    [LoggerMessage(900, LogLevel.Error, "It failed: {Reason}")]
    private static partial void Reason(ILogger log, string reason, Exception failed);
}
