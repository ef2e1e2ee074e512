namespace PaymentGateway.Tests.Tools.Running;

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
}
