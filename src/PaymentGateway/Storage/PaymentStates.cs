namespace PaymentGateway.Storage;

/// <summary>The states of a row of payments (postgres/migrations).</summary>
internal static class PaymentStates
{
    /// <summary>The owner of released payments: any instance may adopt them.</summary>
    public const int Nobody = 0;

    /// <summary>The owner of parked payments.</summary>
    public const int Parked = -1;

    /// <summary>Never handed over: its owner is the instance that accepted it.</summary>
    public const short AsAccepted = 0;

    /// <summary>Handed over, and surely not sent by anyone.</summary>
    public const short Unsent = 1;

    // 6 has the bits of the ids 1 and 2, and earlier versions write 2 for it.
    private const short BothOfEarlier = 2;
    private const short Both = 6;

    /// <summary>Handed over; terminated owners may have charged at these processors.</summary>
    public static short Handover(ProcessorSet mayBeAt) =>
        mayBeAt.Bits == Both ? BothOfEarlier : (short)(mayBeAt.Bits | Unsent);

    /// <summary>The processors at which a row's payment may have been charged.</summary>
    public static ProcessorSet MayBeAt(short handover) =>
        new(handover == BothOfEarlier ? Both : (short)(handover & ~Unsent));

    /// <summary>The numbers as text, because Dapper.AOT takes only constant statements.</summary>
    public static class Sql
    {
        public const string Nobody = "0";
        public const string Parked = "-1";
        public const string AsAccepted = "0";
        public const string Unsent = "1";
    }
}
