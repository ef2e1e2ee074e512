namespace PaymentGateway.Tests.Tools.Running;

/// <summary>What the kernel's line of a process says.</summary>
public sealed class ProcessStatusTests
{
    [Fact]
    public void The_fields_are_counted_behind_the_name_which_may_hold_blanks_and_brackets()
    {
        var status = ProcessStatus.Parse(
            "4711 (a) b (c) S 1 4700 4600 0 -1 4194560 100 0 0 0 7 8 9 10 20 0 12 0 998877 1 2 3");

        Assert.Equal(new ProcessStatus(4711, "a) b (c", 'S', 1, 4700, 10 * (7 + 8 + 9 + 10), 12, 998877), status);
    }

    [Theory]
    [InlineData('R', 1, true)]
    [InlineData('T', 1, true)]
    [InlineData('Z', 1, false)]
    [InlineData('X', 1, false)]
    [InlineData('Z', 2, true)] // Its first thread is dead; the others still hold files and their locks.
    public void A_process_lives_as_long_as_its_last_thread(char state, int threads, bool lives) =>
        Assert.Equal(lives, new ProcessStatus(1, "one", state, 0, 1, 0, threads, 0).IsAlive);

    [Fact]
    public void Our_own_process_is_found_among_all_and_below_its_parent()
    {
        var own = ProcessStatus.ReadLiving(Environment.ProcessId)!;

        Assert.Contains(ProcessStatus.All(), one => one.Pid == own.Pid && one.Born == own.Born);
        Assert.Contains(own.Pid, ProcessTree.ChildrenOf(own.Parent));
        Assert.Equal(own.Pid, ProcessTree.Of(own.Pid)[0]);
    }

    [Fact]
    public async Task A_terminated_process_is_not_alive()
    {
        using var process = Process.Start("true");
        await process.WaitForExitAsync();

        Assert.Null(ProcessStatus.ReadLiving(process.Id));
    }
}
