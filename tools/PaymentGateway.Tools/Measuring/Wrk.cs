namespace PaymentGateway.Tools.Measuring;

/// <summary>The figures that wrk.lua prints at the end. An answer other than 2xx counts as failed, too.</summary>
public sealed record WrkResult(int Requests, double P50Ms, double P99Ms, int Failed)
{
    private const string Mark = "result ";

    public int Accepted => Requests - Failed;

    /// <summary>Null when wrk ended before it had a result.</summary>
    public static WrkResult? In(string output)
    {
        var line = output.Split('\n').LastOrDefault(line => line.StartsWith(Mark, StringComparison.Ordinal));
        if (line is null)
            return null;

        var figures = line[Mark.Length..].Split(' ')
            .Select(figure => double.Parse(figure, CultureInfo.InvariantCulture)).ToArray();
        return new WrkResult((int)figures[0], figures[1], figures[2], (int)figures[3]);
    }
}

/// <summary>wrk with wrk.lua: as fast as its connections can (closed loop).</summary>
internal static class Wrk
{
    /// <param name="run">Part of every id, so that no two loads pay the same.</param>
    public static async Task<WrkResult> PayAsync(
        Uri url, int connections, int seconds, int run, CancellationToken cancellation)
    {
        Programs.Demand("wrk");
        var script = Repository.PathOf("tools", "PaymentGateway.Tools", "Measuring", "wrk.lua");
        var wrk = await Shell.RunAsync(
            ["wrk", "-t1", $"-c{connections}", $"-d{seconds}s", "-s", script, url.AbsoluteUri.TrimEnd('/')],
            variables: new Dictionary<string, string?> { ["WRK_RUN"] = Figure.Of(run) },
            cancellation: cancellation);
        return WrkResult.In(wrk.Output)
            ?? throw new ToolException($"wrk left no result: {(wrk.Errors + wrk.Output).Trim().Split('\n')[^1]}");
    }
}
