using PaymentGateway.Configuring;
using PaymentGateway.Routing;

namespace PaymentGateway.Tests.Routing;

public sealed class ProcessorRouterTests
{
    private static readonly TimeSpan FallbackAfter = TimeSpan.FromSeconds(30);

    // A row for each state of default, a letter for each of fallback: usable, probe, unusable.
    // D is default, F is fallback, W is wait.
    [Theory]
    [InlineData("Cheapest", 0, "DDD DDD WWW")]
    [InlineData("Cheapest", 29.999, "DDD DDD WWW")]
    [InlineData("Cheapest", 30, "DDD DDD FFW")]
    [InlineData("Cheapest", 3600, "DDD DDD FFW")]
    [InlineData("Balanced", 0, "DDD DDD WWW")]
    [InlineData("Balanced", 30, "DDD DDD FFW")]
    [InlineData("Fastest", 0, "DDD DDD FFW")]
    [InlineData("Fastest", 3600, "DDD DDD FFW")]
    public void Every_pair_of_processor_states_has_its_route(string policy, double ageSeconds, string table)
    {
        var rows = table.Split(' ');
        var options = Options(policy);

        foreach (var atDefault in Enum.GetValues<Availability>())
            foreach (var atFallback in Enum.GetValues<Availability>())
            {
                var choice = ProcessorRouter.Choose(
                    State(atDefault), State(atFallback), TimeSpan.FromSeconds(ageSeconds), options);

                Assert.True(rows[(int)atDefault][(int)atFallback] == choice.ToString()[0],
                    $"{atDefault}, {atFallback}: {choice}");
            }
    }

    [Theory]
    [InlineData(0, 30, "Wait")]
    [InlineData(0, 30.001, "Fallback")]
    [InlineData(10, 20, "Wait")]
    [InlineData(10, 20.001, "Fallback")]
    [InlineData(29, 0.5, "Wait")]
    [InlineData(29, 1.001, "Fallback")]
    public void Balanced_stops_waiting_for_an_outage_longer_than_the_rest_of_the_fallback_delay(
        double ageSeconds, double outSeconds, string expected)
    {
        var atDefault = State(Availability.Unusable) with { OutFor = TimeSpan.FromSeconds(outSeconds) };

        var choice = ProcessorRouter.Choose(
            atDefault, State(Availability.Usable), TimeSpan.FromSeconds(ageSeconds), Options("Balanced"));

        Assert.Equal(expected, choice.ToString());
    }

    [Fact]
    public void Cheapest_waits_however_long_the_outage_has_lasted()
    {
        var atDefault = State(Availability.Unusable) with { OutFor = TimeSpan.FromHours(1) };

        var choice = ProcessorRouter.Choose(atDefault, State(Availability.Usable), TimeSpan.Zero, Options("Cheapest"));

        Assert.Equal(RouteChoice.Wait, choice);
    }

    [Theory]
    [InlineData(10, 11, "Default")]
    [InlineData(10, 10, "Default")]
    [InlineData(11, 10, "Fallback")]
    public void Fastest_takes_the_processor_that_answers_sooner_and_default_of_two_alike(
        int defaultMs, int fallbackMs, string expected)
    {
        var atDefault = State(Availability.Usable) with { ExpectedLatency = TimeSpan.FromMilliseconds(defaultMs) };
        var atFallback = State(Availability.Usable) with { ExpectedLatency = TimeSpan.FromMilliseconds(fallbackMs) };

        var choice = ProcessorRouter.Choose(atDefault, atFallback, TimeSpan.Zero, Options("Fastest"));

        Assert.Equal(expected, choice.ToString());
    }

    [Fact]
    public void Without_a_fallback_delay_a_usable_fallback_takes_what_default_cannot()
    {
        var options = Options("Cheapest") with { FallbackAfter = TimeSpan.Zero };

        var choice = ProcessorRouter.Choose(
            State(Availability.Unusable), State(Availability.Usable), TimeSpan.Zero, options);

        Assert.Equal(RouteChoice.Fallback, choice);
    }

    [Fact]
    public void A_payment_from_the_future_waits_as_a_new_one()
    {
        var choice = ProcessorRouter.Choose(
            State(Availability.Unusable), State(Availability.Usable), TimeSpan.FromHours(-1), Options("Cheapest"));

        Assert.Equal(RouteChoice.Wait, choice);
    }

    private static ProcessorState State(Availability availability) => new(availability, TimeSpan.Zero, TimeSpan.Zero);

    private static RoutingOptions Options(string policy) => new(
        Enum.Parse<RoutingPolicy>(policy), FallbackAfter, TimeSpan.FromSeconds(1.2), TimeSpan.FromSeconds(0.5),
        TimeSpan.FromSeconds(5.2));
}
