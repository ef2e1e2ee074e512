using System.Net.Http.Json;
using Npgsql;
using PaymentGateway.Tools.Comparing;
using PaymentGateway.Tools.Measuring;
using PaymentGateway.Tools.Paying;

namespace PaymentGateway.Tools.Odd;

/// <summary>Plays one line on a system of its own, and judges it.</summary>
internal sealed class OddRun(OddLine line, SystemSettings settings)
{
    /// <summary>With one processor that works, a payment that is not in doubt is settled after so long.</summary>
    private static readonly TimeSpan Bound = TimeSpan.FromSeconds(30);

    private static readonly TimeSpan WatchEvery = TimeSpan.FromSeconds(2);
    private static readonly TimeSpan DefaultIsOut = OddCase.Length / 2;

    private const string LedgerSql =
        """
        SELECT p.correlation_id, p.accepted_at, s.recorded_at, name, s.amount_cents, s.requested_at
        FROM payments p LEFT JOIN settlements s USING (accepted_at, correlation_id)
        LEFT JOIN processors ON id = s.processor
        """;

    private readonly LoadLedger _sent = new();
    private readonly HashSet<Guid> _doubts = [];
    private readonly Dictionary<string, HttpClient> _processors = settings.Processors.ToDictionary(
        name => name, name => Client(settings.UrlOf(name)));

    private HttpClient Odd => _processors[line.Odd];

    public async Task<OddRow> PlayAsync(CancellationToken cancellation)
    {
        await using var side = await Side.StartAsync(SideKind.Gateway, settings, TextWriter.Null, cancellation);
        await using var database = NpgsqlDataSource.Create($"{side.System.ConnectionString};Multiplexing=false");
        using var payers = Client(settings.Url);
        using var told = new OddOperator(line.Odd, settings, side.System.LogOf);
        var first = await SettleOneAsync(payers, database, cancellation);

        using var over = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        var watching = WatchAsync(database, told, over.Token);
        await SetAsync(line.Case, cancellation);
        var load = LoadDriver.RunAtRateAsync(payers, _sent, line.Rate.PerSecond, line.Rate.Length);
        var defaultWorksAt = await EndFaultsAsync(cancellation);
        var endedAt = DateTime.UtcNow;
        await load;
        if (line.Case.NeedsWord)
            endedAt = await SayNotChargedAsync(cancellation);
        var latest = DateTime.UtcNow + Bound;
        var ledger = await ReadAsync(database);
        while (ledger.Exists(one => one.Entry is null) && DateTime.UtcNow < latest)
        {
            await Task.Delay(WatchEvery, cancellation);
            ledger = await ReadAsync(database);
        }

        await over.CancelAsync();
        await watching;
        var row = new OddRow(line)
        {
            Settled = ledger.Where(one => one.Id != first && one.Entry is not null)
                .Select(one => (one.Entry!.Processor, one.After)).ToList(),
            Doubts = _doubts.Count,
            Told = await told.SumUpAsync(),
        };
        await JudgeAsync(row, ledger, defaultWorksAt, endedAt);
        return row;
    }

    private static HttpClient Client(string url) => new(new SocketsHttpHandler { UseProxy = false })
    {
        BaseAddress = new Uri(url),
        Timeout = TimeSpan.FromSeconds(10),
        DefaultRequestHeaders = { { "X-Rinha-Token", "123" } },
    };

    // So that look-ups of the odd processor can find something. For fallback an outage of default begins.
    private async Task<Guid> SettleOneAsync(
        HttpClient payers, NpgsqlDataSource database, CancellationToken cancellation)
    {
        if (line.Odd == PartNames.Fallback)
            await PutAsync(_processors[PartNames.Default], "configurations/failure", new { failure = true });
        var first = await LoadDriver.PostAsync(payers, _sent);
        if (!await Waiting.HoldsAsync(
            2 * Bound, async () => (await ReadAsync(database)) is [{ Entry: { } entry }] && entry.Processor == line.Odd,
            cancellation))
            throw new ToolException($"the first payment was not settled at {line.Odd}: {first}");
        return first.Id;
    }

    private async Task SetAsync(OddCase set, CancellationToken cancellation)
    {
        cancellation.ThrowIfCancellationRequested();
        await PutAsync(Odd, "configurations/delay", new { delay = set.DelayMs });
        await PutAsync(Odd, "configurations/failure", new { failure = set.Failing });
        await PutAsync(Odd, "faults", set.Faults ?? new { });
    }

    /// <returns>Since when default works, where it was out.</returns>
    private async Task<DateTime> EndFaultsAsync(CancellationToken cancellation)
    {
        await Task.Delay(DefaultIsOut, cancellation);
        if (line.Odd == PartNames.Fallback)
            await PutAsync(_processors[PartNames.Default], "configurations/failure", new { failure = false });
        var defaultWorksAt = line.Odd == PartNames.Fallback ? DateTime.UtcNow : DateTime.MinValue;
        await Task.Delay(OddCase.Length - DefaultIsOut, cancellation);
        await SetAsync(new OddCase("", null), cancellation);
        return defaultWorksAt;
    }

    private async Task<DateTime> SayNotChargedAsync(CancellationToken cancellation)
    {
        // Longer than the horizon, which the word waits for.
        await Task.Delay(Bound, cancellation);
        using var admin = Client(settings.AdminUrl);
        using var said = await admin.PostAsync($"admin/processors/{line.Odd}/not-charged", null, cancellation);
        said.EnsureSuccessStatusCode();
        return DateTime.UtcNow;
    }

    private static async Task PutAsync(HttpClient processor, string what, object body)
    {
        using var answer = await processor.PutAsJsonAsync($"admin/{what}", body);
        answer.EnsureSuccessStatusCode();
    }

    private async Task WatchAsync(NpgsqlDataSource database, OddOperator told, CancellationToken end)
    {
        while (!end.IsCancellationRequested)
        {
            await using (var command = database.CreateCommand("SELECT correlation_id FROM doubts"))
            await using (var rows = await command.ExecuteReaderAsync(CancellationToken.None))
                while (await rows.ReadAsync(CancellationToken.None))
                    _doubts.Add(rows.GetGuid(0));
            await told.LookAsync();
            await Task.WhenAny(Task.Delay(WatchEvery, end));
        }
    }

    private static async Task<List<OddPayment>> ReadAsync(NpgsqlDataSource database)
    {
        var payments = new List<OddPayment>();
        await using var command = database.CreateCommand(LedgerSql);
        await using var rows = await command.ExecuteReaderAsync();
        while (await rows.ReadAsync())
            payments.Add(rows.IsDBNull(2)
                ? new OddPayment(rows.GetGuid(0), rows.GetDateTime(1), default, null)
                : new OddPayment(
                    rows.GetGuid(0), rows.GetDateTime(1), rows.GetDateTime(2),
                    new LedgerEntry(rows.GetString(3), rows.GetInt64(4) / 100m, rows.GetDateTime(5))));
        return payments;
    }

    private async Task JudgeAsync(OddRow row, List<OddPayment> ledger, DateTime defaultWorksAt, DateTime endedAt)
    {
        var stores = new List<ProcessorStore>();
        foreach (var (name, processor) in _processors)
            stores.Add(new ProcessorStore(
                name, (await processor.GetFromJsonAsync<List<ProcessorPayment>>("admin/payments"))!));
        row.Double = ProcessorStore.ById(stores).Count(charges => charges.Count() > 1);
        var settled = ledger.Where(one => one.Entry is not null).ToDictionary(one => one.Id, one => one.Entry!);
        row.Faults.AddRange(new LedgerComparison(_sent, settled, stores).Differences().Select(one => $"{one}"));

        var late = ledger.Where(one => one.Entry is null || one.RecordedAt > LatestOf(one)).ToList();
        if (late.Count > 0)
            row.Faults.Add($"{late.Count} later than the bound, such as {string.Join(", ", late.Take(3))}");

        // A doubt at the odd processor may last until that one is itself again.
        DateTime LatestOf(OddPayment one)
        {
            var since = one.AcceptedAt > defaultWorksAt ? one.AcceptedAt : defaultWorksAt;
            return (_doubts.Contains(one.Id) && endedAt > since ? endedAt : since) + Bound;
        }
    }
}

/// <summary>A payment of the gateway's ledger; Entry is null while it is not settled.</summary>
internal sealed record OddPayment(Guid Id, DateTime AcceptedAt, DateTime RecordedAt, LedgerEntry? Entry)
{
    public TimeSpan After => RecordedAt - AcceptedAt;
}
