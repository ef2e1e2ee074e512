using System.Globalization;
using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests.Support;

/// <summary>What becomes of a cluster of hosts whose script cannot undo it.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class ClusterScriptTests
{
    [HostsFact]
    public async Task What_a_killed_script_has_left_is_undone_by_the_next_and_a_living_one_is_left_alone()
    {
        await using var killed = await HostsCluster.StartAsync();
        await using var living = await HostsCluster.StartAsync();
        var (left, kept) = (PostgresOf(killed), PostgresOf(living));
        await killed.KillAsync();
        Assert.True(Lives(left));

        await using var next = await HostsCluster.StartAsync();

        Assert.False(Lives(left));
        Assert.True(Lives(kept));
        Assert.NotEqual(living.Directory, next.Directory);
    }

    private static int PostgresOf(ClusterScript script) => int.Parse(
        File.ReadLines(Path.Combine(script.Directory, "data", "postmaster.pid")).First(), CultureInfo.InvariantCulture);

    private static bool Lives(int pid) => File.Exists($"/proc/{pid}/exe");
}
