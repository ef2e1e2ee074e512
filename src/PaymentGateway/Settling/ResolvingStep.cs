namespace PaymentGateway.Settling;

/// <summary>What a try to resolve a payment in doubt came to.</summary>
/// <param name="Done">It is in doubt no more.</param>
/// <param name="RetryAfter">Else how long the processor asked to be left alone, beside the usual wait.</param>
internal readonly record struct ResolvingStep(bool Done, TimeSpan RetryAfter)
{
    public static readonly ResolvingStep Ended = new(true, TimeSpan.Zero);

    public static ResolvingStep Again(TimeSpan? retryAfter) => new(false, retryAfter ?? TimeSpan.Zero);
}
