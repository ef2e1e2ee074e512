namespace PaymentGateway.Tools.LoadTesting;

/// <summary>Draws a run by gnuplot. A run without a picture is still a run.</summary>
internal static class Picture
{
    public static async Task DrawAsync(
        string folder, string headline, TextWriter output, CancellationToken cancellation)
    {
        var log = Path.Combine(folder, "gnuplot.log");
        await InstallAsync(log, cancellation);
        if (Programs.Find("gnuplot") is null)
        {
            await output.WriteLineAsync("no picture: gnuplot is missing (Debian: apt-get install gnuplot-nox)");
            return;
        }

        var settled = Path.Combine(folder, "settled.csv");
        var ledger = File.Exists(settled) && File.ReadLines(settled).Count() > 2 ? 1 : 0;
        await File.WriteAllLinesAsync(
            Path.Combine(folder, "stages.gp"), StageShapes.Of(File.ReadAllLines(Path.Combine(folder, "stages.csv"))),
            cancellation);
        var picture = Path.Combine(folder, "picture.png");
        var status = await LoggedCommand.RunAsync(
            ["gnuplot", "-e", $"folder='{folder}'; out='{picture}'; headline='{headline}'; ledger={ledger}",
                Repository.PathOf("gatling", "plot", "run.gp")],
            log, cancellation: cancellation);
        if (status == 0)
            return;

        await output.WriteLineAsync($"no picture: gnuplot failed; log: {log}");
        File.Delete(picture);
    }

    private static async Task InstallAsync(string log, CancellationToken cancellation)
    {
        if (Programs.Find("gnuplot") is not null || Programs.Find("apt-get") is null
            || !Environment.IsPrivilegedProcess)
            return;

        await LoggedCommand.RunAsync(
            ["apt-get", "-q", "-y", "install", "--no-install-recommends", "gnuplot-nox", "fonts-dejavu-core"], log,
            variables: new Dictionary<string, string?> { ["DEBIAN_FRONTEND"] = "noninteractive" },
            cancellation: cancellation);
    }
}
