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

    /// <summary>Handed over, and perhaps sent, to either processor, by a terminated owner.</summary>
    public const short InDoubt = 2;

    /// <summary>Handed over, perhaps sent to default, and surely not to fallback.</summary>
    public const short InDoubtAtDefault = 3;

    /// <summary>The numbers for statements: Dapper.AOT takes constants only, and a number makes none.</summary>
    public static class Sql
    {
        public const string Nobody = "0";
        public const string Parked = "-1";
        public const string AsAccepted = "0";
        public const string Unsent = "1";
        public const string InDoubt = "2";
        public const string InDoubtAtDefault = "3";
    }
}
