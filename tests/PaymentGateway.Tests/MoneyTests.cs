namespace PaymentGateway.Tests;

public sealed class MoneyTests
{
    [Theory]
    [InlineData("0.01", 1)]
    [InlineData("19.90", 1990)]
    [InlineData("19.9", 1990)]
    [InlineData("19.9000", 1990)]
    [InlineData("999999999999.99", Money.MaxCents)]
    public void An_amount_of_at_most_two_decimals_is_whole_cents(string amount, long cents)
    {
        var taken = Money.TryToCents(decimal.Parse(amount, CultureInfo.InvariantCulture), out var given);

        Assert.True(taken);
        Assert.Equal(cents, given);
    }

    [Theory]
    [InlineData("0")]
    [InlineData("-0.01")]
    [InlineData("0.001")]
    [InlineData("19.905")]
    [InlineData("1000000000000")]
    [InlineData("79228162514264337593543950335")]
    [InlineData("-79228162514264337593543950335")]
    public void An_amount_out_of_range_or_finer_than_a_cent_is_refused(string amount)
    {
        var taken = Money.TryToCents(decimal.Parse(amount, CultureInfo.InvariantCulture), out var given);

        Assert.False(taken);
        Assert.Equal(0, given);
    }

    [Property]
    public void Cents_survive_the_conversion_to_an_amount_and_back_and_fractions_of_a_cent_are_refused(
        DoNotSize<ulong> any, byte part)
    {
        var cents = 1 + (long)(any.Item % Money.MaxCents);
        var amount = Money.FromCents(cents);

        Assert.True(Money.TryToCents(amount, out var read));
        Assert.Equal(cents, read);
        Assert.False(Money.TryToCents(amount + ((1 + part) / 25_700m), out _));
    }

    [Theory]
    [InlineData("0", "0.00")]
    [InlineData("1", "0.01")]
    [InlineData("1990", "19.90")]
    [InlineData("2000", "20.00")]
    [InlineData("99999999999999", "999999999999.99")]
    [InlineData("9999999999999999999999999", "99999999999999999999999.99")]
    public void Cents_are_written_as_an_exact_decimal_with_two_places(string cents, string written)
    {
        var amount = Money.FromCents(decimal.Parse(cents, CultureInfo.InvariantCulture));

        Assert.Equal(written, amount.ToString(CultureInfo.InvariantCulture));
    }
}
