using PaymentGateway.Tools.Chaos;

namespace PaymentGateway.Tests.Tools.Chaos;

/// <summary>What `eng/tool chaos` makes of its arguments.</summary>
public sealed class ChaosOptionsTests
{
    [Fact]
    public void Without_arguments_chaos_plays_seed_1_in_both_profiles_for_280_s()
    {
        var options = ChaosOptions.Parse([]);

        Assert.Equal((1, 280), (options.Seed, options.Seconds));
        Assert.Equal(["durable", "unlogged"], options.Profiles);
    }

    [Fact]
    public void Seed_profile_and_seconds_can_be_given()
    {
        var options = ChaosOptions.Parse(["7", "unlogged", "60"]);

        Assert.Equal((7, 60), (options.Seed, options.Seconds));
        Assert.Equal(["unlogged"], options.Profiles);
    }

    [Theory]
    [InlineData("-1")]
    [InlineData("one")]
    [InlineData("1", "logged")]
    [InlineData("1", "both", "1.5")]
    [InlineData("1", "both", "60", "more")]
    public void Any_other_text_is_refused(params string[] arguments) => Assert.StartsWith(
        "usage:", Assert.Throws<ToolException>(() => ChaosOptions.Parse(arguments)).Message, StringComparison.Ordinal);
}
