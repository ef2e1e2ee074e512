using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class WrongTokensTests
{
    private readonly FakeTimeProvider _clock = new();
    private readonly WrongTokens _wrong;

    public WrongTokensTests() => _wrong = new WrongTokens(_clock);

    [Fact]
    public void Different_ones_pause_their_address_until_the_minute_of_the_first_is_over()
    {
        for (var i = 1; i <= WrongTokens.Max; i++)
        {
            Assert.Equal(TimeSpan.Zero, _wrong.PauseOf("a"));
            Assert.Equal(i, _wrong.Add("a", i));
        }

        Assert.Equal(TimeSpan.FromMinutes(1), _wrong.PauseOf("a"));
        Assert.Equal(TimeSpan.Zero, _wrong.PauseOf("b"));
        _clock.Advance(TimeSpan.FromSeconds(59));
        Assert.Equal(TimeSpan.FromSeconds(1), _wrong.PauseOf("a"));
        _clock.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(TimeSpan.Zero, _wrong.PauseOf("a"));
        Assert.Equal(1, _wrong.Add("a", 1));
    }

    [Fact]
    public void The_same_one_counts_once_so_that_a_client_with_an_old_token_locks_nobody_out()
    {
        Assert.Equal(1, _wrong.Add("a", 1));
        for (var i = 0; i < 2 * WrongTokens.Max; i++)
            Assert.Equal(0, _wrong.Add("a", 1));

        Assert.Equal(TimeSpan.Zero, _wrong.PauseOf("a"));
    }
}
