namespace PaymentGateway.Tests.Charging;

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
                var choice = Choose(
                    TimeSpan.FromSeconds(ageSeconds), FallbackAfter,
                    Usable with { Availability = atDefault, Fails = defaultFails, SinceChange = FallbackAfter },
                    Usable with { Availability = atFallback });

                Assert.True(rows[(int)atDefault][(int)atFallback] == choice, $"{atDefault}, {atFallback}: {choice}");
            }
    }

    [Theory]
    [InlineData(10, 'W')]
    [InlineData(10.001, 'F')]
    public void A_payment_does_not_wait_for_an_outage_longer_than_the_fallback_delay(
        double outSeconds, char expected) =>
        Assert.Equal(
            expected, Choose(TimeSpan.Zero, FallbackAfter, Failing(TimeSpan.FromSeconds(outSeconds)), Usable));

    [Theory]
    [InlineData(2.499, 'W')]
    [InlineData(2.5, 'F')]
    public void A_fallback_that_has_just_recovered_takes_nothing_before_default_could_recover_too(
        double usableSeconds, char expected) =>
        Assert.Equal(expected, Choose(
            TimeSpan.FromMinutes(1), FallbackAfter, Failing(TimeSpan.FromMinutes(1)),
            Usable with { SinceChange = TimeSpan.FromSeconds(usableSeconds) }));

    // U is usable, S slow, X fails since a moment, L fails for longer than the delay, F is full, P is due for a probe,
    // m did not store it and is usable.
    [Theory]
    [InlineData("UUU", 0, 'D')]
    [InlineData("SUU", 0, 'F')]
    [InlineData("SSU", 0, '2')]
    [InlineData("LLU", 0, '2')]
    [InlineData("XUU", 0, 'W')]
    [InlineData("LXU", 0, 'W')]
    [InlineData("LXU", 10, '2')]
    [InlineData("SFU", 0, 'W')]
    [InlineData("SFU", 10, '2')]
    [InlineData("LPU", 0, 'F')]
    [InlineData("LLP", 0, '2')]
    [InlineData("mmU", 10, '2')]
    [InlineData("mmU", 9, 'D')]
    [InlineData("mmm", 10, '2')]
    [InlineData("SSSSU", 0, '4')]
    [InlineData("LSLXU", 10, '4')]
    public void Of_several_processors_the_cheapest_that_is_worth_it_takes_the_payment(
        string states, double ageSeconds, char expected) => Assert.Equal(expected, Choose(
            TimeSpan.FromSeconds(ageSeconds), FallbackAfter, states.Select(letter => letter switch
            {
                'S' => Usable with { Availability = Availability.Unusable },
                'X' => Failing(TimeSpan.Zero),
                'L' => Failing(TimeSpan.FromMinutes(1)),
                'F' => Usable with { Availability = Availability.Full },
                'P' => Usable with { Availability = Availability.Probe },
                'm' => Usable with { IsMissing = true },
                _ => Usable,
            }).ToArray()));

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
        var choices = Enum.GetValues<Availability>().Select(atFallback => Choose(
            TimeSpan.FromSeconds(ageSeconds), FallbackAfter, Usable with { IsMissing = true },
            Usable with { Availability = atFallback }));

        Assert.Equal(expected, string.Concat(choices));
    }

    // A row for each state of default, a letter for each of fallback.
    [Theory]
    [InlineData(9.999, "DDDD DDDD WWWW WWWW")]
    [InlineData(10, "DDDD FDDD FFWW FFWW")]
    public void A_payment_that_default_refused_is_no_probe_again_past_the_fallback_delay_while_fallback_is_usable(
        double ageSeconds, string expected)
    {
        var rows = Enum.GetValues<Availability>().Select(atDefault => string.Concat(
            Enum.GetValues<Availability>().Select(atFallback => Choose(
                TimeSpan.FromSeconds(ageSeconds), FallbackAfter,
                Failing(FallbackAfter) with { Availability = atDefault, HasRefused = true },
                Usable with { Availability = atFallback }))));

        Assert.Equal(expected, string.Join(' ', rows));
    }

    [Fact]
    public void Without_a_fallback_delay_a_usable_fallback_takes_what_default_cannot() => Assert.Equal(
        'F', Choose(TimeSpan.Zero, TimeSpan.Zero, Failing(TimeSpan.Zero), Usable));

    [Fact]
    public void A_payment_from_the_future_waits_as_a_new_one() => Assert.Equal(
        'W', Choose(TimeSpan.FromHours(-1), FallbackAfter, Failing(TimeSpan.Zero), Usable));

    private static char Choose(TimeSpan age, TimeSpan fallbackAfter, params ProcessorState[] states) =>
        "WDF23456"[ProcessorRouter.Choose(states, age, fallbackAfter) + 1];

    private static ProcessorState Failing(TimeSpan since) =>
        Usable with { Availability = Availability.Unusable, Fails = true, SinceChange = since };
}
