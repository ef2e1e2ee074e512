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
    [InlineData("19.900000000000002", "19.90")]
    [InlineData("19.899999618530273", "19.90")]
    [InlineData("19.9000999", "19.90")]
    [InlineData("19.9001", "19.9001")]
    [InlineData("19.895", "19.895")]
    [InlineData("0.004", "0.004")]
    [InlineData("-0.00001", "0.00")]
    [InlineData("999999999999.9900000001", "999999999999.99")]
    [InlineData("79228162514264337593543950335", "79228162514264337593543950335")]
    public void An_amount_that_is_less_than_a_hundredth_of_a_cent_from_whole_cents_is_these_cents(
        string amount, string read) => Assert.Equal(
        read, Money.WithoutNoise(decimal.Parse(amount, CultureInfo.InvariantCulture))
            .ToString(CultureInfo.InvariantCulture));

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
