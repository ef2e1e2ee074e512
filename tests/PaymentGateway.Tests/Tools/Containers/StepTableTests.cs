using PaymentGateway.Tools.Containers;

namespace PaymentGateway.Tests.Tools.Containers;

/// <summary>The table that `make compose-test` prints, and what it counts.</summary>
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
    public async Task A_step_without_a_fault_has_passed()
    {
        await _table.PlayAsync("2,000 payments", step =>
        {
            step.Note("ready after 3.0 s");
            step.Note("MB 3");
            step.Ledgers = "equal (2000)";
            return Task.CompletedTask;
        });

        Assert.Equal(["| 2,000 payments | passed | equal (2000) | ready after 3.0 s MB 3 | 0 |"], Lines());
        Assert.True(_table.Succeeded);
    }

    [Fact]
    public async Task All_faults_of_a_step_are_in_its_row()
    {
        await _table.PlayAsync("some", step =>
        {
            Assert.False(step.Must(false, "api1 is not down"));
            Assert.True(step.Must(true, "this holds"));
            step.Must(false, "the ledgers differ");
            step.Explain(["1 charged twice:\n  that one"]);
            return Task.CompletedTask;
        });

        Assert.Equal(
            ["| some | failed: api1 is not down; the ledgers differ |  |  | 0 |", "  1 charged twice:", "    that one"],
            Lines());
        Assert.False(_table.Succeeded);
    }

    [Fact]
    public async Task An_exception_in_a_step_is_its_fault()
    {
        await _table.PlayAsync("some", _ => throw new IOException("no answer"));

        Assert.Equal("| some | failed: no answer |  |  | 0 |", Lines()[0]);
    }

    [Fact]
    public async Task A_cancelled_run_has_no_row()
    {
        var over = new CancellationToken(canceled: true);

        await Assert.ThrowsAsync<OperationCanceledException>(() =>
            _table.PlayAsync("some", _ => throw new OperationCanceledException(over), over));

        Assert.Empty(Lines());
    }

    [Fact]
    public async Task A_kill_for_memory_is_a_fault_of_the_step_in_which_it_came()
    {
        _killed.AddRange(["nginx", "api1"]);

        await PassAsync("first");
        await PassAsync("second");

        Assert.Equal(
            ["| first | failed: killed for memory: nginx api1 |  |  | 0 |", "| second | passed |  |  | 0 |"], Lines());
    }

    [Fact]
    public async Task Steps_after_an_end_are_skipped_until_the_end_is_taken_back()
    {
        _table.End("not without the `up` above");
        await _table.PlayAsync("first", _ => throw new InvalidOperationException("it is not played"));
        _table.End(null);
        await PassAsync("second");

        Assert.Equal(
            ["| first | skipped |  | not without the `up` above | 0 |", "| second | passed |  |  | 0 |"], Lines());
    }

    [Fact]
    public async Task A_step_with_a_fault_and_a_skip_has_failed()
    {
        await _table.PlayAsync("some", step =>
        {
            step.Skip("not here");
            step.Must(false, "broken");
            return Task.CompletedTask;
        });

        Assert.Equal("| some | failed: broken |  | not here | 0 |", Lines()[0]);
    }

    [Fact]
    public async Task The_last_line_counts_passed_and_failed()
    {
        await PassAsync("first");
        await _table.PlayAsync("second", _ => throw new IOException("no answer"));
        _table.End("over");
        await PassAsync("third");

        _table.WriteEnd(TimeSpan.FromSeconds(353.9));

        Assert.Equal(["353 s in all, 1 skipped", "1 passed, 1 failed"], Lines()[^2..]);
    }

    public void Dispose() => _written.Dispose();

    private Task PassAsync(string name) => _table.PlayAsync(name, _ => Task.CompletedTask);

    private string[] Lines() => $"{_written}".Split('\n', StringSplitOptions.RemoveEmptyEntries);
}
