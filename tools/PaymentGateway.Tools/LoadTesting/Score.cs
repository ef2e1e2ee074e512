namespace PaymentGateway.Tools.LoadTesting;

/// <summary>The money of an official load and its score (docs/contract.md, the official loads).</summary>
public sealed record Score(decimal Gross, decimal Fees, decimal Net, decimal Points)
{
    private const decimal BonusFromMs = 11;
    private const decimal BonusPerMs = 0.02m;
    private const decimal Penalty = 0.35m;

    /// <param name="settled">The amount that each processor settled, and what it takes of it.</param>
    public static Score Of(
        IReadOnlyCollection<(decimal Amount, decimal Fee)> settled, decimal p99Ms, bool isInconsistent)
    {
        var gross = settled.Sum(each => each.Amount);
        var fees = settled.Sum(each => each.Amount * each.Fee);
        var bonus = Math.Max(0, Math.Round((BonusFromMs - p99Ms) * BonusPerMs, 2, MidpointRounding.AwayFromZero));
        var points = (gross - fees) * (1 + bonus - (isInconsistent ? Penalty : 0));
        return new Score(gross, Math.Round(fees, 2), Math.Round(gross - fees, 2), Math.Round(points, 2));
    }
}
