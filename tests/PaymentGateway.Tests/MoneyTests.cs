namespace PaymentGateway.Tests;

public sealed class MoneyTests
{
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
