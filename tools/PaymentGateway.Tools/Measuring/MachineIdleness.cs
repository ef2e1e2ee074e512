using System.Globalization;

namespace PaymentGateway.Tools.Measuring;

/// <summary>Whether the machine is ours: what else runs on it would be read as the gateway's.</summary>
public sealed class MachineIdleness(bool refuses)
{
    private const int BusyPercentMost = 10;
    private static readonly TimeSpan Limit = TimeSpan.FromSeconds(20);
    private readonly List<string> _busy = [];

    /// <summary>What was begun on a busy machine.</summary>
    public IReadOnlyList<string> Busy => _busy;

    /// <summary>Waits a while for an idle machine, then says that it is not, or refuses.</summary>
    /// <param name="next">What is about to begin.</param>
    public async Task AwaitAsync(string next, CancellationToken cancellation)
    {
        var deadline = DateTime.UtcNow + Limit;
        while (await BusyPercentAsync(cancellation) is var percent and > BusyPercentMost)
        {
            if (DateTime.UtcNow < deadline)
                continue;
            if (refuses)
                throw new ToolException($"the machine is {percent} % busy with something else before '{next}'");

            _busy.Add($"the machine is {percent} % busy before '{next}'");
            await Console.Error.WriteLineAsync(_busy[^1]);
            return;
        }
    }

    /// <summary>How busy all cores were between two first lines of /proc/stat.</summary>
    public static int Percent(string before, string after)
    {
        var ((idleBefore, allBefore), (idleAfter, allAfter)) = (Times(before), Times(after));
        return (int)(100 - 100 * (idleAfter - idleBefore) / Math.Max(1, allAfter - allBefore));
    }

    private static async Task<int> BusyPercentAsync(CancellationToken cancellation)
    {
        var before = FirstLine();
        await Task.Delay(TimeSpan.FromSeconds(1), cancellation);
        return Percent(before, FirstLine());
    }

    private static string FirstLine() => File.ReadLines("/proc/stat").First();

    // user nice system idle iowait: a disk that is waited for is nobody's work.
    private static (long Idle, long All) Times(string line)
    {
        var times = line.Split(' ', StringSplitOptions.RemoveEmptyEntries)[1..6]
            .Select(time => long.Parse(time, CultureInfo.InvariantCulture)).ToArray();
        return (times[3] + times[4], times.Sum());
    }
}
