using System.Reflection;

namespace PaymentGateway.Tests.Telemetry;

/// <summary>What stands in a line of the Text log, and that nobody forges one.</summary>
public sealed partial class TextLogFormatterTests
{
    private readonly GatheredLines _lines = new(new TextLogFormatter(TimeProvider.System));

    [Theory]
    [InlineData(LogLevel.Trace, "trce")]
    [InlineData(LogLevel.Debug, "dbug")]
    [InlineData(LogLevel.Information, "info")]
    [InlineData(LogLevel.Warning, "warn")]
    [InlineData(LogLevel.Error, "fail")]
    [InlineData(LogLevel.Critical, "crit")]
    public void A_line_has_time_level_category_event_and_message(LogLevel level, string name)
    {
        using var factory = NewFactory();

        var log = factory.CreateLogger("PaymentGateway.Settling.OwnedPayments");
        Said(log, level, "zwölf");

        Assert.Matches(
            @"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z " + name
                + @": PaymentGateway\.Settling\.OwnedPayments\[420\] It said: zwölf\n$",
            _lines.Lines.Single());
    }

    [Fact]
    public void What_somebody_else_wrote_stays_on_its_line_and_moves_no_cursor()
    {
        using var factory = NewFactory();
        const string Hostile = "x\r\n2026-11-23 fail: forged\u001b[2J\u009b1A\u2028\u202eend";

        var log = factory.CreateLogger("One");
        Failed(log, Hostile, new InvalidOperationException(Hostile));

        var line = _lines.Lines.Single();
        AssertOneLine(line);
        Assert.Contains("x 2026-11-23 fail: forged [2J 1A end", line, StringComparison.Ordinal);
        Assert.Contains("InvalidOperationException: x 2026", line, StringComparison.Ordinal);
    }

    [Fact]
    public void Times_in_messages_are_ISO_8601_and_durations_are_numbers_with_a_unit()
    {
        using var factory = NewFactory();
        var log = factory.CreateLogger("One");
        var at = new DateTime(2026, 11, 24, 10, 5, 6, DateTimeKind.Utc);
        var messages = typeof(Payment).Assembly.GetTypes()
            .SelectMany(type => type.GetMethods(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic))
            .Where(method => method.GetCustomAttribute<LoggerMessageAttribute>() is not null).ToList();

        var ofTimes = messages.Where(message => Has<DateTime>(message) || Has<DateTime?>(message)).ToList();

        foreach (var message in ofTimes)
            message.Invoke(null, [log, at]);

        Assert.NotEmpty(ofTimes);
        Assert.Equal(ofTimes.Count, _lines.Lines.Count);
        Assert.All(_lines.Lines, line => Assert.Contains(" 2026-11-24T10:05:06Z", line, StringComparison.Ordinal));
        Assert.DoesNotContain(messages, Has<TimeSpan>);
    }

    [PostgresFact]
    public async Task No_client_and_no_processor_writes_a_line_of_its_own()
    {
        await using var rig = await GatewayRig.StartAsync(new TestDatabase());
        var gateway = await rig.StartGatewayAsync(
            "Logging:LogLevel:Default=Trace", "Logging:LogLevel:Microsoft=Trace", "Logging:LogLevel:System=Trace");
        gateway.Part<ILoggerFactory>().AddProvider(_lines.NewProvider());

        foreach (var path in new[] { "nowhere", "payments", "admin/parked" })
        {
            using var answer = await gateway.AskAsync(
                $"{path}/%0D%0A2026-11-23%20fail:%20forged%1B%5B2J%E2%80%A8?forged=%0A%1B",
                ("User-Agent", "forged"), ("X-Rinha-Token", "forged"));
            Assert.True(answer.StatusCode is HttpStatusCode.NotFound or HttpStatusCode.BadRequest);
        }

        // Another library logs it, and with the path as it was meant.
        Assert.Contains(_lines.Lines, line => line.Contains("fail: forged [2J", StringComparison.Ordinal));
        Assert.All(_lines.Lines, AssertOneLine);
    }

    private static bool Has<T>(MethodInfo message) =>
        message.GetParameters().Any(parameter => parameter.ParameterType == typeof(T));

    private static void AssertOneLine(string line)
    {
        Assert.EndsWith("\n", line, StringComparison.Ordinal);
        Assert.DoesNotContain(line[..^1], letter => char.IsControl(letter)
            || char.GetUnicodeCategory(letter) is UnicodeCategory.Format or UnicodeCategory.LineSeparator);
    }

    private ILoggerFactory NewFactory() => LoggerFactory.Create(
        builder => builder.AddProvider(_lines.NewProvider()).SetMinimumLevel(LogLevel.Trace));

    [LoggerMessage(EventId = 420, Message = "It said: {What}")]
    private static partial void Said(ILogger log, LogLevel level, string what);

    [LoggerMessage(900, LogLevel.Error, "It failed: {Reason}")]
    private static partial void Failed(ILogger log, string reason, Exception failed);
}
