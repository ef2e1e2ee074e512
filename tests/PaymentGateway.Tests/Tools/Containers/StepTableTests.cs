using PaymentGateway.Tools.Containers;

namespace PaymentGateway.Tests.Tools.Containers;

public sealed class StepTableTests : IDisposable
{
    private readonly StringWriter _written = new();
    private readonly List<string> _killed = [];
    private readonly StepTable _table;

    public StepTableTests() => _table = new StepTable(_written, () =>
    {
        var taken = _killed.ToList();
        _killed.Clear();
        return taken;
    });

    [Fact]
    public async Task Faults_exceptions_and_kills_for_memory_fail_their_step_and_others_pass_or_are_skipped()
    {
        await PlayAsync("good", step =>
        {
            step.Note("ready");
            step.Note("MB 3");
            step.Ledgers = "equal (2000)";
        });
        Assert.True(_table.Succeeded);
        await PlayAsync("two faults", step =>
        {
            step.Skip("a fault counts for more");
            Assert.False(step.Must(false, "api1 is not down"));
            Assert.True(step.Must(true, "this holds"));
            step.Must(false, "the ledgers differ");
            step.Explain(["1 charged twice:\n  that one"]);
        });
        _killed.AddRange(["nginx", "api1"]);
        await PlayAsync("killed", _ => { });
        await PlayAsync("after the kill", _ => { });
        _table.End("not without the `up` above");
        await PlayAsync("without up", _ => throw new InvalidOperationException("it is not played"));
        _table.End(null);
        await PlayAsync("broken", _ => throw new IOException("no answer"));
        Assert.False(_table.Succeeded);
        _table.WriteEnd(TimeSpan.FromSeconds(353.9));

        Assert.Equal(
            [
                "| good | passed | equal (2000) | ready MB 3 | 0 |",
                "| two faults | failed: api1 is not down; the ledgers differ |  | a fault counts for more | 0 |",
                "  1 charged twice:", "    that one", "| killed | failed: killed for memory: nginx api1 |  |  | 0 |",
                "| after the kill | passed |  |  | 0 |",
                "| without up | skipped |  | not without the `up` above | 0 |",
                "| broken | failed: no answer |  |  | 0 |", "353 s in all, 1 skipped", "2 passed, 3 failed",
            ],
            Lines().Where(line => !line.StartsWith("  System.IO.IOException", StringComparison.Ordinal)
                && !line.StartsWith("     at ", StringComparison.Ordinal)));
    }

    [Fact]
    public async Task A_cancelled_run_has_no_row()
    {
        var over = new CancellationToken(canceled: true);

        await Assert.ThrowsAsync<OperationCanceledException>(() =>
            _table.PlayAsync("some", _ => throw new OperationCanceledException(over), over));

        Assert.Empty(Lines());
    }

    public void Dispose() => _written.Dispose();

    private Task PlayAsync(string name, Action<ContainerStep> play) => _table.PlayAsync(name, step =>
    {
        play(step);
        return Task.CompletedTask;
    });

    private string[] Lines() => $"{_written}".Split('\n', StringSplitOptions.RemoveEmptyEntries);
}
