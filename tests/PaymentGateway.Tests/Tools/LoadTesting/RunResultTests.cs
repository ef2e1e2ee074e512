using PaymentGateway.Tools.LoadTesting;

namespace PaymentGateway.Tests.Tools.LoadTesting;

/// <summary>The figures that a simulation leaves.</summary>
public sealed class RunResultTests
{
    private static readonly RunResult Preview = RunResult.Of(
        """
        {
          "simulation": "Preview", "accepted": 16745, "p50Ms": 0.44, "p99Ms": 3.5, "lag": 0, "inconsistencies": 0
        }
        """);

    [Fact]
    public void The_headline_has_what_the_challenge_counts() => Assert.Equal(
        "Preview (Stored): 16745 payments, p50 0.44 ms, p99 3.5 ms, lag 0, inconsistencies 0",
        Preview.Headline("Preview", "Stored"));

    [Fact]
    public void A_side_without_a_ledger_has_no_lag_in_its_headline() => Assert.Equal(
        "Preview (stub): 10 payments, p50 0.2 ms, p99 1 ms",
        RunResult.Of("""{"accepted": 10, "p50Ms": 0.2, "p99Ms": 1}""").Headline("Preview", "stub"));

    [Fact]
    public void The_p99_of_each_stage_is_read_and_another_load_has_no_stages()
    {
        var run = RunResult.Of("""{"stages": [{"fromSecond": 1.0, "p50Ms": 0.3, "p99Ms": 2.5}]}""");

        Assert.Equal([(1.0, 2.5)], run.Stages);
        Assert.Empty(Preview.Stages);
    }

    [Fact]
    public void A_figure_that_a_run_does_not_have_is_left_out()
    {
        Assert.Equal(3.5, Preview.Number("p99Ms"));
        Assert.Null(Preview.Number("cpuSecondsPer1000"));
        Assert.Null(Preview.Number("simulation"));
    }
}
