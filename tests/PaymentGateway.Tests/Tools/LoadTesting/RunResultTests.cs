using PaymentGateway.Tools.LoadTesting;

namespace PaymentGateway.Tests.Tools.LoadTesting;

public sealed class RunResultTests
{
    [Theory]
    [InlineData("gabxdev-java-1, all 16,752 at default", 316_696.56, 1.25, false, 380_036)]
    [InlineData("the preview's ceiling", 316_696.56, 0, false, 386_370)]
    [InlineData("ricassiocosta-node", 1_666_561, 2.55, false, 1_949_876)]
    [InlineData("lucas-laurentino-go", 1_640_454, 2.18, false, 1_935_736)]
    [InlineData("marcelo-dias", 1_644_370, 2.42, false, 1_923_913)]
    [InlineData("danilosantana-dotnet", 1_642_796, 2.53, false, 1_922_071)]
    [InlineData("david-delta-sierra-go", 1_367_199, 2.43, false, 1_599_622)]
    [InlineData("past 11 ms nothing is added", 1000, 250, false, 1000)]
    [InlineData("an inconsistency costs 35 %", 1000, 11, true, 650)]
    public void The_score_is_the_published_one(
        string entry, double net, double p99Ms, bool isInconsistent, double published)
    {
        var score = Score.Of([((decimal)net, 0)], (decimal)p99Ms, isInconsistent);

        Assert.True(Math.Abs((double)score.Points - published) < 1, $"{entry}: {score.Points}");
    }

    [Fact]
    public void Each_processor_takes_its_fee()
    {
        var run = RunResult.Of(
            """
            {
              "p99Ms": 11, "inconsistencies": 0, "feeOf": {"default": 0.07, "fallback": 0.10},
              "settled": {
                "default": {"requests": 52675, "amount": 1056133.75},
                "fallback": {"requests": 37925, "amount": 760396.25}
              }
            }
            """);

        run.AddScore();

        // Of 90,600 payments the net of ricassiocosta-node is this split and no other.
        Assert.Equal(
            ("1816530.00", "149968.99", "1666561.01"), (run.Text("gross"), run.Text("fees"), run.Text("net")));
    }

    [Fact]
    public void The_times_by_nginx_are_those_of_the_payments_alone()
    {
        var run = RunResult.Of("{}");

        run.AddNginxTimes(
        [
            "0.004 POST /payments", "0.000 POST /payments", "0.002 POST /payments", "1.500 GET /payments-summary",
            "0.900 POST /purge-payments",
        ]);

        Assert.Equal("2 3.96 4 4", string.Join(
            ' ', run.Text("nginxP50Ms"), run.Text("nginxP99Ms"), run.Text("nginxP999Ms"), run.Text("nginxMaxMs")));
    }

    [Theory]
    [InlineData(600, 55, 0)]
    [InlineData(600, 56, 1)]
    [InlineData(500, 90, 0)]
    public void An_instance_that_is_a_tenth_heavier_after_ten_minutes_or_more_is_wrong(
        int seconds, double last, int wrong)
    {
        var memory = new MemoryTrend([Sample(10, 50), Sample(seconds, last)]);

        Assert.Equal(wrong, memory.Growth().Count());
        Assert.Equal(last + 300, memory.PeakMiB);

        static MemorySample Sample(int second, double instance) => new(
            second, new Dictionary<string, double> { ["api1"] = instance, ["postgres"] = second == 10 ? 50 : 300 });
    }
}
