using System.Net.Http.Json;
using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>Count and exact amount of settled payments, at a processor or in its column of the ledger.</summary>
public sealed record Totals(long TotalRequests, decimal TotalAmount);

/// <summary>The check after each load: all that was accepted is settled, and the ledgers agree to the cent.</summary>
internal sealed class LedgerCheck(LoadTarget target) : IDisposable
{
    private static readonly TimeSpan SettleLimit = TimeSpan.FromMinutes(1);

    // A call that was given up may be charged so much later: the longest delay of a stage, and some.
    private static readonly TimeSpan Aftermath = TimeSpan.FromSeconds(6);

    private readonly HttpClient _http = new()
    {
        Timeout = TimeSpan.FromSeconds(5),
        DefaultRequestHeaders = { { "X-Rinha-Token", target.Settings.Token ?? "123" } },
    };

    /// <returns>What is wrong, nothing when all is well.</returns>
    public async Task<IReadOnlyList<string>> CheckAsync(int accepted, int sent, CancellationToken cancellation)
    {
        try
        {
            using var gateway = new GatewayClient(target.Url);
            await gateway.AwaitSettledAsync(accepted, SettleLimit, cancellation);
        }
        catch (ToolException)
        {
            // The differences say it.
        }

        await Task.Delay(Aftermath, cancellation);
        try
        {
            var ledger = await ReadAsync<Dictionary<string, Totals>>($"{target.Url}/payments-summary", cancellation);
            var stored = new Dictionary<string, Totals>();
            foreach (var name in target.Settings.Processors)
                stored[name] = await ReadAsync<Totals>(
                    $"{target.Settings.UrlOf(name)}/admin/payments-summary", cancellation);
            return [.. Differences(ledger, stored, accepted, sent)];
        }
        catch (Exception unreadable) when (unreadable is HttpRequestException or TaskCanceledException or JsonException)
        {
            cancellation.ThrowIfCancellationRequested();
            return [$"ledger: {unreadable.Message}"];
        }
    }

    /// <param name="ledger">The gateway's.</param>
    /// <param name="stored">What the processors say of themselves.</param>
    /// <param name="accepted">Payments that got their 2xx: each must be settled.</param>
    /// <param name="sent">One without an answer may have been stored, so more than these is wrong for sure.</param>
    public static IEnumerable<string> Differences(
        IReadOnlyDictionary<string, Totals> ledger, IReadOnlyDictionary<string, Totals> stored, long accepted,
        long sent)
    {
        // A name that one side lacks is wrong even without a payment.
        foreach (var name in ledger.Keys.Union(stored.Keys).Order(StringComparer.Ordinal))
            if (ledger.GetValueOrDefault(name) is var ours && stored.GetValueOrDefault(name) is var own && ours != own)
                yield return $"ledger: {name} has {ours} at the gateway, and itself {own}";
        var settled = ledger.Values.Sum(totals => totals.TotalRequests);
        if (settled < accepted)
            yield return $"ledger: {accepted - settled} accepted payments are not settled";
        if (settled > sent)
            yield return $"ledger: {settled - sent} payments more than were sent";
    }

    public void Dispose() => _http.Dispose();

    private async Task<T> ReadAsync<T>(string url, CancellationToken cancellation) =>
        await _http.GetFromJsonAsync<T>(new Uri(url), cancellation) ?? throw new JsonException($"{url} answers null");
}
