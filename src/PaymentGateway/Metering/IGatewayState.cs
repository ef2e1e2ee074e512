namespace PaymentGateway.Metering;

/// <summary>What the gauges of this instance read, whenever somebody asks for them. Safe from any thread.</summary>
internal interface IGatewayState
{
    /// <summary>Payments in memory that are not in the ledger yet.</summary>
    int Unsettled { get; }

    /// <summary>Payments in memory that wait to be charged.</summary>
    int Queued { get; }

    /// <summary>The age of the oldest payment that is not settled, in memory or table; zero without one.</summary>
    TimeSpan OldestAge { get; }

    /// <summary>Further payments wait in the table.</summary>
    bool HasOverflow { get; }

    /// <summary>Payments in memory that are in doubt.</summary>
    int InDoubt { get; }

    /// <summary>Payments that are parked in the whole ledger, as the database last said; null until it did.</summary>
    long? Parked { get; }

    /// <summary>Outcomes in memory that are not in the ledger yet.</summary>
    int Unwritten { get; }

    bool IsLeaseHeld { get; }

    /// <summary>A crash of the database has emptied the ledger, and no purge has begun a new one.</summary>
    bool IsLedgerReset { get; }

    /// <summary>What routing knows of a processor.</summary>
    ProcessorReading Read(Processor processor);
}

/// <summary>One processor as routing knows it, at one moment.</summary>
/// <param name="Circuit">One of <see cref="StateGauges.Circuits"/>.</param>
/// <param name="Availability">One of <see cref="StateGauges.Availabilities"/>.</param>
/// <param name="ExpectedLatency">How long a charge is expected to take.</param>
/// <param name="InFlight">Charges in flight.</param>
/// <param name="Limit">How many may be in flight.</param>
internal readonly record struct ProcessorReading(
    string Circuit, string Availability, TimeSpan ExpectedLatency, int InFlight, int Limit);
