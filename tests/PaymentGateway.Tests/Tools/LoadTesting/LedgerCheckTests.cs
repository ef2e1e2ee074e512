using PaymentGateway.Tools.LoadTesting;
using LedgerCheck = PaymentGateway.Tools.LoadTesting.LedgerCheck;

namespace PaymentGateway.Tests.Tools.LoadTesting;

public sealed class LedgerCheckTests
{
    private const string Ledger = "default 3 59.70, fallback 2 39.8";

    [Theory]
    [InlineData(Ledger, "default 3 59.7, fallback 2 39.80", 5, 5, 0)]
    [InlineData(Ledger, Ledger, 4, 5, 0)] // A payment without an answer may be settled.
    [InlineData(Ledger, Ledger, 6, 6, 1)] // An accepted payment is not settled.
    [InlineData(Ledger, Ledger, 4, 4, 1)] // More payments are settled than were sent.
    [InlineData(Ledger, "default 3 59.71, fallback 2 39.80", 5, 5, 1)]
    [InlineData(Ledger, "default 3 59.70, fallback 2 39.79", 5, 5, 1)]
    [InlineData(Ledger, "default 4 59.70, fallback 2 39.80", 5, 5, 1)]
    [InlineData(Ledger, "default 2 39.80, fallback 3 59.70", 5, 5, 2)] // The sum is right, the processors are not.
    [InlineData("default 3 999999999999.99", "default 3 999999999999.98", 3, 3, 1)]
    [InlineData(Ledger, "default 3 59.70, fallback 2 39.80, third 0 0", 5, 5, 1)] // The gateway does not name it.
    [InlineData("default 3 59.70, third 1 19.9", "default 3 59.70, third 1 19.90", 4, 4, 0)]
    public void Each_cent_and_payment_too_many_too_few_or_elsewhere_is_wrong(
        string ledger, string stored, int accepted, int sent, int wrong) =>
        Assert.Equal(wrong, LedgerCheck.Differences(Parse(ledger), Parse(stored), accepted, sent).Count());

    private static Dictionary<string, Totals> Parse(string totals) => totals.Split(", ").Select(each => each.Split(' '))
        .ToDictionary(words => words[0], words => new Totals(
            long.Parse(words[1], CultureInfo.InvariantCulture), decimal.Parse(words[2], CultureInfo.InvariantCulture)));
}
