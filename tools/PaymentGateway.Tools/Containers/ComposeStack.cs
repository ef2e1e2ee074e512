using PaymentGateway.Tools.Comparing;

namespace PaymentGateway.Tools.Containers;

/// <summary>The containers that some of the compose files describe; none named is what a plain `up` reads.</summary>
internal sealed class ComposeStack(Docker docker, params string[] files)
{
    // A payment's time to the microsecond, as PostgreSQL holds it.
    private const string Settlements = "SELECT coalesce(name, processor::text), correlation_id, amount_cents, "
        + "(extract(epoch FROM requested_at) * 1000000)::bigint FROM settlements "
        + "LEFT JOIN processors ON id = processor";

    private const string Counts = "SELECT count(*) FILTER (WHERE s.accepted_at IS NULL), count(s.accepted_at) "
        + "FROM payments p LEFT JOIN settlements s USING (correlation_id)";

    public static ComposeStack Durable(Docker docker) =>
        new(docker, "docker-compose.yml", "docker-compose.override.yml", "docker-compose.durable.yml");

    /// <summary>The challenge's entry, with the image of this engine; the processors are elsewhere.</summary>
    public static ComposeStack Entry(Docker docker) => new(docker, ChallengeEntry.Write(
        SystemSettings.FromEnvironment().With(
            ("GATEWAY_IMAGE", "payment-gateway:local"), ("SOURCE", "https://example.org")),
        Repository.PathOf("artifacts", "rinha-entry-test")));

    public Task<ShellResult> RunAsync(params string[] arguments) =>
        docker.RunAsync(["compose", .. files.SelectMany(file => new[] { "-f", file }), .. arguments]);

    public async Task<string> IdOfAsync(string service) => (await RunAsync("ps", "-aq", service)).Output.Trim();

    /// <summary>Null when it has no container.</summary>
    public async Task<ContainerState?> StateOfAsync(string service) =>
        await IdOfAsync(service) is { Length: > 0 } id ? await docker.InspectAsync(id) : null;

    public async Task<bool> IsHealthyAsync(string service) => await StateOfAsync(service) is { IsHealthy: true };

    /// <summary>Payments without a settlement, and payments with one; null when the database cannot be asked.</summary>
    public async Task<(long Unsettled, long Settled)?> CountAsync() => await AskAsync(Counts) is [var row]
        ? (Number(row.Split(' ')[0]), Number(row.Split(' ')[1]))
        : null;

    /// <summary>The gateway's ledger; null when it cannot be read.</summary>
    public async Task<Dictionary<Guid, LedgerEntry>?> SettlementsAsync() =>
        await AskAsync(Settlements) is { } rows ? ParseSettlements(rows) : null;

    /// <param name="rows">As psql prints them: processor, id, cents, microseconds since 1970.</param>
    public static Dictionary<Guid, LedgerEntry> ParseSettlements(IEnumerable<string> rows) => rows
        .Select(row => row.Split(' '))
        .ToDictionary(fields => Guid.Parse(fields[1]), fields => new LedgerEntry(
            fields[0], Number(fields[2]) / 100m,
            DateTime.UnixEpoch.AddTicks(Number(fields[3]) * TimeSpan.TicksPerMicrosecond)));

    private async Task<string[]?> AskAsync(string sql)
    {
        var result = await RunAsync(
            "exec", "-T", "postgres", "psql", "-U", "gateway", "-d", "gateway", "-AtF", " ", "-c", sql);
        return result.Succeeded ? result.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries) : null;
    }

    private static long Number(string text) => long.Parse(text, CultureInfo.InvariantCulture);
}
