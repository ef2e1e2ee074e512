namespace PaymentGateway.Storage;

/// <summary>The owners of payments that no instance has (postgres/migrations names the states of a row).</summary>
internal static class Owners
{
    /// <summary>The owner of released payments: any instance may adopt them.</summary>
    public const int Nobody = 0;

    /// <summary>The owner of parked payments.</summary>
    public const int Parked = -1;

    /// <summary>The numbers as text, because Dapper.AOT takes only constant statements.</summary>
    public static class Sql
    {
        public const string Nobody = "0";
        public const string Parked = "-1";
    }
}
