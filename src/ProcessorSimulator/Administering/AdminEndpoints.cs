using System.Globalization;
using System.Text.Json.Serialization;
using ProcessorSimulator.Auditing;
using ProcessorSimulator.Charging;
using Json = ProcessorSimulator.SimulatorJsonContext;

namespace ProcessorSimulator.Administering;

/// <summary>The contract's admin calls: summary, the three configurations, purge.</summary>
internal sealed class AdminEndpoints(
    PaymentLedger ledger, Switches switches, CallCounters calls, decimal feePerTransaction)
{
    private const DateTimeStyles BoundStyle = DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal;

    public void Map(WebApplication app, AdminToken token)
    {
        var summarise = token.Guard(SummariseAsync);
        app.MapGet("/admin/payments-summary", (RequestDelegate)(context =>
        {
            calls.Count(Counted.Summary);
            return summarise(context);
        }));
        app.MapPut("/admin/configurations/token", token.Guard(SetTokenAsync));
        app.MapPut("/admin/configurations/delay", token.Guard(SetDelayAsync));
        app.MapPut("/admin/configurations/failure", token.Guard(SetFailureAsync));
        app.MapPost("/admin/purge-payments", token.Guard(PurgeAsync));
    }

    private async Task SummariseAsync(HttpContext context)
    {
        if (!TryReadBound(context, "from", out var from) || !TryReadBound(context, "to", out var to))
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
            return;
        }

        var (totalRequests, totalAmount) = ledger.Summarise(from, to);
        var summary = new PaymentsSummary(
            totalRequests, totalAmount, totalAmount * feePerTransaction, feePerTransaction);
        await JsonBody.WriteAsync(context, summary, Json.Default.PaymentsSummary);
    }

    public static bool TryReadBound(HttpContext context, string name, out DateTime? bound)
    {
        bound = null;
        var value = (string?)context.Request.Query[name];
        if (string.IsNullOrEmpty(value))
            return true;
        if (!DateTime.TryParse(value, CultureInfo.InvariantCulture, BoundStyle, out var time))
            return false;
        bound = StoredPayment.ToMicroseconds(time);
        return true;
    }

    private async Task SetTokenAsync(HttpContext context)
    {
        if (await JsonBody.ReadAsync(context, Json.Default.TokenRequest) is not { } request)
            return;
        if (string.IsNullOrEmpty(request.Token))
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
            return;
        }

        switches.Token = request.Token;
        context.Response.StatusCode = StatusCodes.Status204NoContent;
    }

    private async Task SetDelayAsync(HttpContext context)
    {
        if (await JsonBody.ReadAsync(context, Json.Default.DelayRequest) is not { } request)
            return;
        if (request.Delay < 0)
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
            return;
        }

        var change = new ConfigurationChange<int>("delay", switches.DelayMilliseconds, request.Delay);
        switches.DelayMilliseconds = request.Delay;
        await JsonBody.WriteAsync(context, change, Json.Default.ConfigurationChangeInt32);
    }

    private async Task SetFailureAsync(HttpContext context)
    {
        if (await JsonBody.ReadAsync(context, Json.Default.FailureRequest) is not { } request)
            return;
        var change = new ConfigurationChange<bool>("failure", switches.Failing, request.Failure);
        switches.Failing = request.Failure;
        await JsonBody.WriteAsync(context, change, Json.Default.ConfigurationChangeBoolean);
    }

    /// <summary>A call that is in its delay now inserts afterwards, as at the real processor.</summary>
    private Task PurgeAsync(HttpContext context)
    {
        ledger.Purge();
        calls.StartAnew();
        return JsonBody.WriteAsync(context, new MessageBody("All payments purged."), Json.Default.MessageBody);
    }
}

/// <summary>The answer of GET /admin/payments-summary.</summary>
internal sealed record PaymentsSummary(
    long TotalRequests, decimal TotalAmount, decimal TotalFee, decimal FeePerTransaction);

/// <summary>The body of PUT /admin/configurations/token.</summary>
internal sealed record TokenRequest([property: JsonRequired] string Token);

/// <summary>The body of PUT /admin/configurations/delay, in milliseconds.</summary>
internal sealed record DelayRequest([property: JsonRequired] int Delay);

/// <summary>The body of PUT /admin/configurations/failure.</summary>
internal sealed record FailureRequest([property: JsonRequired] bool Failure);

/// <summary>The answer to a changed switch: its name, its value before and its value now.</summary>
internal sealed record ConfigurationChange<T>(string Config, T Was, T Is);

/// <summary>The body of an answer that says something in words.</summary>
internal sealed record MessageBody(string Message);
