namespace PaymentGateway.Tools.Measuring;

/// <summary>What bench.lua says at the end. Failed has the refused ones in it: answers that were not 2xx.</summary>
public sealed record WrkResult(int Requests, double Seconds, double P50Ms, double P99Ms, int Failed, int Refused)
{
    private const string Mark = "result ";

    public int Accepted => Requests - Failed;

    public int PerSecond => (int)(Accepted / Seconds);

    /// <summary>Null when wrk ended before it had a result.</summary>
    public static WrkResult? In(string output)
    {
        var line = output.Split('\n').LastOrDefault(line => line.StartsWith(Mark, StringComparison.Ordinal));
        if (line is null)
            return null;

        var figures = line[Mark.Length..].Split(' ')
            .Select(figure => double.Parse(figure, CultureInfo.InvariantCulture)).ToArray();
        return new WrkResult(
            (int)figures[0], figures[1], figures[2], figures[3], (int)figures[4], (int)figures[5]);
    }
}

/// <summary>wrk with bench.lua: as fast as its connections can (closed loop).</summary>
internal static class Wrk
{
    /// <param name="run">Part of every id, so that no two loads pay the same.</param>
    public static async Task<WrkResult> PayAsync(
        Uri url, int connections, int seconds, int run, CancellationToken cancellation)
    {
        var script = Repository.PathOf("tools", "PaymentGateway.Tools", "Measuring", "bench.lua");
        var wrk = await Shell.RunAsync(
            ["wrk", "-t1", $"-c{connections}", $"-d{seconds}s", "-s", script, url.AbsoluteUri.TrimEnd('/')],
            variables: new Dictionary<string, string?> { ["BENCH_RUN"] = Figure.Of(run) },
            cancellation: cancellation);
        return WrkResult.In(wrk.Output)
            ?? throw new ToolException($"wrk left no result: {(wrk.Errors + wrk.Output).Trim().Split('\n')[^1]}");
    }
}
