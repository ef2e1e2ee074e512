namespace PaymentGateway.Showing;

/// <summary>How one instance is doing, in one second; as JSON it is what the others read of it.</summary>
/// <param name="LeaseHeld">It may charge.</param>
/// <param name="AcceptedPerSecond">New payments, since the reading before.</param>
/// <param name="SettledPerSecond">Outcomes that entered the ledger, since the reading before.</param>
/// <param name="Unsettled">Payments in its memory.</param>
/// <param name="OldestSeconds">The age of the oldest of them, and of those in the table.</param>
/// <param name="HasOverflow">Further payments wait in the table.</param>
/// <param name="InDoubt">Payments that were perhaps charged.</param>
/// <param name="MemoryBytes">Resident.</param>
/// <param name="WindowSeconds">How long the durations were measured for; some ten seconds.</param>
/// <param name="Accepts">Acceptances of the last seconds by how long they took, in the buckets of the metrics.</param>
/// <param name="Lanes">What it knows of each processor, default first.</param>
internal sealed record InstanceReading(
    bool LeaseHeld, double AcceptedPerSecond, double SettledPerSecond, int Unsettled, double OldestSeconds,
    bool HasOverflow, int InDoubt, long MemoryBytes, double WindowSeconds, long[] Accepts, LaneReading[] Lanes)
{
    /// <summary>Whether it can be shown; what another version said may lack something.</summary>
    public bool IsWhole() =>
        Accepts is not null && Lanes is [{ } first, { } second] && first.IsWhole() && second.IsWhole()
        && WindowSeconds > 0
        && double.IsFinite(AcceptedPerSecond + SettledPerSecond + OldestSeconds + WindowSeconds);
}

/// <summary>What one instance knows of one processor.</summary>
/// <param name="Circuit">One of the states of a circuit breaker, as in the metrics.</param>
/// <param name="Availability">What routing may do with it, as in the metrics.</param>
/// <param name="ExpectedSeconds">How long a charge is expected to take.</param>
/// <param name="InFlight">Charges in flight.</param>
/// <param name="Calls">Charges of the last seconds by how long they took, in the buckets of the metrics.</param>
internal sealed record LaneReading(
    string Circuit, string Availability, double ExpectedSeconds, int InFlight, long[] Calls)
{
    /// <inheritdoc cref="InstanceReading.IsWhole"/>
    public bool IsWhole() =>
        Circuit is not null && Availability is not null && Calls is not null && double.IsFinite(ExpectedSeconds);
}
