using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.Support;

/// <summary>
/// A processor of the contract in a world that is odd: its look-ups may be answered by something in between.
/// </summary>
internal sealed class OddProcessor : IAsyncDisposable
{
    private readonly WebApplication _app;
    private int _posts;
    private int _lookUps;
    private int _duplicates;

    private OddProcessor(WebApplication app) => _app = app;

    /// <summary>The payments that it has, as its look-ups tell them.</summary>
    public ConcurrentDictionary<Guid, string> Stored { get; } = new();

    /// <summary>True: the answer to this charge is lost, after the payment was stored.</summary>
    public volatile Predicate<Guid> LosesAnswer = _ => false;

    /// <summary>True: the charge is lost, and nothing is stored.</summary>
    public volatile Predicate<Guid> LosesCharge = _ => false;

    /// <summary>The failure switch.</summary>
    public volatile bool IsFailing;

    /// <summary>True: a 404 answers the look-up, whatever is stored.</summary>
    public volatile Predicate<Guid> Hides = _ => false;

    /// <summary>True: the charge is answered by 400, and nothing is stored.</summary>
    public volatile Predicate<Guid> Rejects = _ => false;

    /// <summary>The headers of each 404.</summary>
    public ConcurrentDictionary<string, string> NotFoundHeaders { get; } = new();

    /// <summary>The body of each 404.</summary>
    public volatile string NotFound = "";

    public Uri BaseAddress => new(_app.Urls.Single());

    public int Posts => Volatile.Read(ref _posts);

    public int LookUps => Volatile.Read(ref _lookUps);

    /// <summary>How many charges were answered by 422.</summary>
    public int Duplicates => Volatile.Read(ref _duplicates);

    public static async Task<OddProcessor> StartAsync()
    {
        var builder = WebApplication.CreateSlimBuilder();
        builder.WebHost.UseUrls("http://127.0.0.1:0");
        builder.Logging.ClearProviders();
        var app = builder.Build();
        var processor = new OddProcessor(app);
        app.Run(context => HttpMethods.IsPost(context.Request.Method)
            ? processor.ChargeAsync(context)
            : processor.LookUpAsync(context));
        await app.StartAsync();
        return processor;
    }

    public ValueTask DisposeAsync() => _app.DisposeAsync();

    private async Task ChargeAsync(HttpContext context)
    {
        using var reader = new StreamReader(context.Request.Body);
        var body = await reader.ReadToEndAsync();
        using var charge = JsonDocument.Parse(body);
        var id = charge.RootElement.GetProperty("correlationId").GetGuid();
        Interlocked.Increment(ref _posts);
        if (IsFailing)
        {
            context.Response.StatusCode = StatusCodes.Status500InternalServerError;
        }
        else if (Rejects(id))
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
        }
        else if (LosesCharge(id))
        {
            context.Abort();
        }
        else if (!Stored.TryAdd(id, body))
        {
            Interlocked.Increment(ref _duplicates);
            context.Response.StatusCode = StatusCodes.Status422UnprocessableEntity;
        }
        else if (LosesAnswer(id))
        {
            context.Abort();
        }
        else
        {
            await context.Response.WriteAsync("""{"message":"stored"}""");
        }
    }

    private async Task LookUpAsync(HttpContext context)
    {
        var last = context.Request.Path.Value!.Split('/')[^1];
        if (!Guid.TryParse(last, out var id))
        {
            await context.Response.WriteAsync(
                $$"""{"failing":{{(IsFailing ? "true" : "false")}},"minResponseTime":0}""");
            return;
        }

        Interlocked.Increment(ref _lookUps);
        if (!Hides(id) && Stored.TryGetValue(id, out var body))
            await context.Response.WriteAsync(body);
        else
            await AnswerNotFoundAsync(context);
    }

    private Task AnswerNotFoundAsync(HttpContext context)
    {
        context.Response.StatusCode = StatusCodes.Status404NotFound;
        foreach (var (name, value) in NotFoundHeaders)
            context.Response.Headers[name] = value;
        return context.Response.WriteAsync(NotFound);
    }
}
