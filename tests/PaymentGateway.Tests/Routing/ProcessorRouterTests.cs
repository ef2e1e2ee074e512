
namespace PaymentGateway.Tests.Routing;

public sealed class ProcessorRouterTests
{
    private static readonly TimeSpan FallbackAfter = TimeSpan.FromSeconds(10);

    private static readonly ProcessorState Usable = new(Availability.Usable, TimeSpan.Zero, false, TimeSpan.MaxValue);

    // A row for each state of default: usable, probe, full, unusable. A letter for each of fallback.
    // D is default, F is fallback, W is wait.
    [Theory]
    [InlineData(true, 0, "DDDD DDDD WWWW WWWW")]
    [InlineData(true, 9.999, "DDDD DDDD WWWW WWWW")]
    [InlineData(true, 10, "DDDD DDDD FFWW FFWW")]
    [InlineData(true, 3600, "DDDD DDDD FFWW FFWW")]
    [InlineData(false, 0, "DDDD DDDD WWWW FFWW")]
    [InlineData(false, 10, "DDDD DDDD FFWW FFWW")]
    public void Every_pair_of_processor_states_has_its_route(bool defaultFails, double ageSeconds, string table)
    {
        var rows = table.Split(' ');

        foreach (var atDefault in Enum.GetValues<Availability>())
            foreach (var atFallback in Enum.GetValues<Availability>())
            {
                var choice = ProcessorRouter.Choose(
                    Usable with { Availability = atDefault, Fails = defaultFails, For = FallbackAfter },
                    Usable with { Availability = atFallback }, TimeSpan.FromSeconds(ageSeconds), FallbackAfter);

                Assert.True(rows[(int)atDefault][(int)atFallback] == choice.ToString()[0],
                    $"{atDefault}, {atFallback}: {choice}");
            }
    }

    [Theory]
    [InlineData(10, "Wait")]
    [InlineData(10.001, "Fallback")]
    public void A_payment_does_not_wait_for_an_outage_longer_than_the_fallback_delay(
        double outSeconds, string expected)
    {
        var choice = ProcessorRouter.Choose(
            Failing(TimeSpan.FromSeconds(outSeconds)), Usable, TimeSpan.Zero, FallbackAfter);

        Assert.Equal(expected, choice.ToString());
    }

    [Theory]
    [InlineData(2.499, "Wait")]
    [InlineData(2.5, "Fallback")]
    public void A_fallback_that_has_just_recovered_takes_nothing_before_default_could_recover_too(
        double usableSeconds, string expected)
    {
        var choice = ProcessorRouter.Choose(
            Failing(TimeSpan.FromMinutes(1)), Usable with { For = TimeSpan.FromSeconds(usableSeconds) },
            TimeSpan.FromMinutes(1), FallbackAfter);

        Assert.Equal(expected, choice.ToString());
    }

    [Theory]
    [InlineData("Usable", "Full")]
    [InlineData("Probe", "Unusable")]
    public void Without_a_permit_a_usable_processor_is_full_and_a_probe_is_not_sent(string before, string expected)
    {
        var state = Usable with { Availability = Enum.Parse<Availability>(before) };

        Assert.Equal(expected, state.WithoutPermit().Availability.ToString());
    }

    // A row for each state of fallback: usable, probe, full, unusable.
    [Theory]
    [InlineData(9.999, "DDDD")]
    [InlineData(10, "FFDD")]
    public void A_payment_that_default_did_not_store_takes_fallback_past_the_fallback_delay(
        double ageSeconds, string expected)
    {
        var choices = Enum.GetValues<Availability>().Select(atFallback => ProcessorRouter.Choose(
            Usable, Usable with { Availability = atFallback }, TimeSpan.FromSeconds(ageSeconds), FallbackAfter,
            isMissingAtDefault: true).ToString()[0]);

        Assert.Equal(expected, string.Concat(choices));
    }

    [Fact]
    public void Without_a_fallback_delay_a_usable_fallback_takes_what_default_cannot() => Assert.Equal(
        RouteChoice.Fallback, ProcessorRouter.Choose(Failing(TimeSpan.Zero), Usable, TimeSpan.Zero, TimeSpan.Zero));

    [Fact]
    public void A_payment_from_the_future_waits_as_a_new_one() => Assert.Equal(
        RouteChoice.Wait,
        ProcessorRouter.Choose(Failing(TimeSpan.Zero), Usable, TimeSpan.FromHours(-1), FallbackAfter));

    private static ProcessorState Failing(TimeSpan since) =>
        Usable with { Availability = Availability.Unusable, Fails = true, For = since };
}
