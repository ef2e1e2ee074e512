namespace PaymentGateway.Tools.LoadTesting;

/// <summary>Draws a run by gnuplot. A run without a picture is still a run.</summary>
internal static class Picture
{
    public static async Task DrawAsync(
        string folder, string headline, TextWriter output, CancellationToken cancellation)
    {
        if (!Programs.Has("gnuplot"))
        {
            await output.WriteLineAsync("no picture: gnuplot is missing (Debian: apt-get install gnuplot-nox)");
            return;
        }

        var settled = Path.Combine(folder, "settled.csv");
        var ledger = File.Exists(settled) && File.ReadLines(settled).Count() > 2 ? 1 : 0;
        var log = Path.Combine(folder, "gnuplot.log");
        var picture = Path.Combine(folder, "picture.png");
        var plots = Repository.PathOf("gatling", "plot");
        var status = await LoggedCommand.RunAsync(
            [
                "gnuplot", "-e",
                $"folder='{folder}'; out='{picture}'; headline='{headline}'; ledger={ledger}; plots='{plots}'",
                Path.Combine(plots, "run.gp"),
            ],
            log, cancellation: cancellation);
        if (status == 0)
            return;

        await output.WriteLineAsync($"no picture: gnuplot failed; log: {log}");
        File.Delete(picture);
    }
}
