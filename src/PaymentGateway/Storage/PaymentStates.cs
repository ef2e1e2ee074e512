namespace PaymentGateway.Storage;

/// <summary>The states of a row of payments (postgres/migrations).</summary>
internal static class PaymentStates
{
    /// <summary>The owner epoch of what nobody settles: anyone may adopt it. No lease has it.</summary>
    public const int Nobody = 0;

    /// <summary>The owner epoch of what waits for an operator.</summary>
    public const int Parked = -1;

    /// <summary>Never handed over: its owner is the instance that accepted it.</summary>
    public const short AsAccepted = 0;

    /// <summary>Handed over, and surely not sent by anyone.</summary>
    public const short Unsent = 1;

    // 6 has the bits of the ids 1 and 2, and earlier versions write 2 for it.
    private const short BothOfEarlier = 2;
    private const short Both = 6;

    /// <summary>Handed over, and perhaps charged at these by terminated owners.</summary>
    public static short Handover(ProcessorSet mayBeAt) =>
        mayBeAt.Bits == Both ? BothOfEarlier : (short)(mayBeAt.Bits | Unsent);

    /// <summary>Where a row's payment may be charged.</summary>
    public static ProcessorSet MayBeAt(short handover) =>
        new(handover == BothOfEarlier ? Both : (short)(handover & ~Unsent));

    /// <summary>The numbers for statements: Dapper.AOT takes constants only, and a number makes none.</summary>
    public static class Sql
    {
        public const string Nobody = "0";
        public const string Parked = "-1";
        public const string AsAccepted = "0";
        public const string Unsent = "1";
    }
}
