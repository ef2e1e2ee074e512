namespace PaymentGateway.Querying;

/// <summary>States and processors as the wire has them.</summary>
internal static class PaymentWords
{
    public static string Of(PaymentState state) => state switch
    {
        PaymentState.Accepted => "accepted",
        PaymentState.InDoubt => "in_doubt",
        PaymentState.Settled => "settled",
        _ => "parked",
    };

    public static string Of(Processor processor) => processor == Processor.Default ? "default" : "fallback";

    /// <returns>Null for what no state is.</returns>
    public static PaymentState? StateOf(string word) => Find(Enum.GetValues<PaymentState>(), Of, word);

    /// <returns>Null for what no processor is.</returns>
    public static Processor? ProcessorOf(string word) => Find(Enum.GetValues<Processor>(), Of, word);

    private static T? Find<T>(T[] values, Func<T, string> wordOf, string word) where T : struct
    {
        foreach (var value in values)
            if (wordOf(value) == word)
                return value;
        return null;
    }
}
