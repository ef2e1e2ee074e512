using System.Globalization;

namespace PaymentGateway.Tools.Measuring;

/// <summary>A side's database, by psql.</summary>
internal sealed class SideDatabase(Side side)
{
    /// <summary>What a statement returns, a blank between columns.</summary>
    public Task<string> QueryAsync(string sql, CancellationToken cancellation) =>
        RunAsync(["-F", " ", "-c", sql], cancellation);

    public async Task<int> CountAsync(string sql, CancellationToken cancellation) =>
        int.Parse(await QueryAsync("SELECT count(*) FROM " + sql, cancellation), CultureInfo.InvariantCulture);

    /// <summary>
    /// Makes the tables, and payments settled in them. Before there are instances: the indexes are made after the rows,
    /// and nobody may write meanwhile.
    /// </summary>
    public async Task FillAsync(string rows, int perSecond, CancellationToken cancellation)
    {
        var started = DateTime.UtcNow;
        foreach (var migration in Directory.GetFiles(Repository.PathOf("postgres", "migrations")).Order())
            await RunAsync(["-f", migration], cancellation);
        if (rows != "0")
            await RunAsync(
                ["-v", "rows=" + rows, "-v", "rate=" + Figure.Of(perSecond),
                    "-f", Repository.PathOf("tools", "PaymentGateway.Tools", "Measuring", "ledger.sql")], cancellation);
        Console.WriteLine($"  ledger of {rows} filled in {(int)(DateTime.UtcNow - started).TotalSeconds} s");
        // Else the kernel writes the ledger to the disk in the middle of the measurement.
        await Shell.RunAsync(["sync"], cancellation: cancellation);
    }

    private Task<string> RunAsync(string[] arguments, CancellationToken cancellation) => Shell.ReadAsync(
        [Path.Combine(side.System.Settings.PostgresBinaries!, "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1",
            "-h", side.System.PostgresSocketDirectory, "-U", "gateway", "-d", "gateway", .. arguments],
        cancellation: cancellation);
}
