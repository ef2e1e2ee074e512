namespace PaymentGateway.Hosting.Telemetry;

/// <summary>The state of one instance; the ledger has it as JSON for the pages of the others.</summary>
/// <param name="OldestSeconds">The age of its oldest unsettled payment, also in the table.</param>
/// <param name="WindowSeconds">How long Accepts and the calls of Lanes were counted.</param>
/// <param name="Accepts">Acceptances by how long they took, in the buckets of the metrics.</param>
/// <param name="Lanes">A reading of each processor, the cheapest first.</param>
/// <param name="Payers">Null where another version wrote it.</param>
internal sealed record InstanceReading(
    string Name, bool LeaseHeld, double AcceptedPerSecond, double SettledPerSecond, int Unsettled,
    double OldestSeconds, bool HasOverflow, int InDoubt, long MemoryBytes, double WindowSeconds, long[] Accepts,
    LaneReading[] Lanes, PayerReading[]? Payers = null)
{
    public string ToJson() => JsonSerializer.Serialize(this, ReadingJsonContext.Default.InstanceReading);

    /// <returns>Null when it cannot be shown, because another version wrote it.</returns>
    public static InstanceReading? Parse(string json)
    {
        try
        {
            var read = JsonSerializer.Deserialize(json, ReadingJsonContext.Default.InstanceReading);
            return read is { Name: not null, WindowSeconds: > 0, Accepts: not null, Lanes: not null }
                && Array.TrueForAll(read.Lanes, static lane => lane?.IsWhole() == true)
                && double.IsFinite(
                    read.AcceptedPerSecond + read.SettledPerSecond + read.OldestSeconds + read.WindowSeconds)
                ? read
                : null;
        }
        catch (JsonException)
        {
            return null;
        }
    }
}

/// <summary>Payments of a payer that this instance has accepted and refused since its start.</summary>
internal sealed record PayerReading(string Name, long Accepted, long Refused);

/// <summary>The state of one processor at one instance.</summary>
/// <param name="Calls">Charges by how long they took, in the buckets of the metrics.</param>
/// <param name="Unreadable">An answer to a look-up could not be read lately (event 414).</param>
internal sealed record LaneReading(
    string Name, string Circuit, string Availability, double ExpectedSeconds, int InFlight, int Limit, long[] Calls,
    bool Unreadable = false)
{
    /// <summary>The states of the circuit breaker, the best first.</summary>
    public static readonly string[] Circuits = ["closed", "half_open", "open"];

    /// <summary>Whether the processor can be used, the best first.</summary>
    public static readonly string[] Availabilities = ["usable", "unknown", "probe", "unusable", "disabled"];

    /// <summary>False when something is missing, because another version wrote it.</summary>
    public bool IsWhole() =>
        Name is not null && Circuit is not null && Availability is not null && Calls is not null
        && double.IsFinite(ExpectedSeconds);
}

[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(InstanceReading))]
internal sealed partial class ReadingJsonContext : JsonSerializerContext;
