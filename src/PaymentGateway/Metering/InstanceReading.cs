using System.Text.Json;
using System.Text.Json.Serialization;

namespace PaymentGateway.Metering;

/// <summary>How one instance does, in one second; its lease row has it as JSON.</summary>
/// <param name="Name">Of the instance, for people.</param>
/// <param name="LeaseHeld">It may charge.</param>
/// <param name="AcceptedPerSecond">New payments, in the last second.</param>
/// <param name="SettledPerSecond">Outcomes that entered the ledger, in the last second.</param>
/// <param name="Unsettled">Payments in its memory.</param>
/// <param name="OldestSeconds">The age of the oldest of them, and of those in the table.</param>
/// <param name="HasOverflow">Further payments wait in the table.</param>
/// <param name="InDoubt">Payments that were perhaps charged.</param>
/// <param name="MemoryBytes">Resident.</param>
/// <param name="WindowSeconds">How long the durations were measured for; some ten seconds.</param>
/// <param name="Accepts">Acceptances of the last seconds by how long they took, in the buckets of the metrics.</param>
/// <param name="Lanes">What it knows of each processor, default first.</param>
internal sealed record InstanceReading(
    string Name, bool LeaseHeld, double AcceptedPerSecond, double SettledPerSecond, int Unsettled,
    double OldestSeconds, bool HasOverflow, int InDoubt, long MemoryBytes, double WindowSeconds, long[] Accepts,
    LaneReading[] Lanes)
{
    public string ToJson() => JsonSerializer.Serialize(this, ReadingJsonContext.Default.InstanceReading);

    /// <returns>Null when it cannot be shown, because another version wrote it.</returns>
    public static InstanceReading? Parse(string json)
    {
        try
        {
            var read = JsonSerializer.Deserialize(json, ReadingJsonContext.Default.InstanceReading);
            return read is { Name: not null, WindowSeconds: > 0, Accepts: not null, Lanes: [{ } first, { } second] }
                && first.IsWhole() && second.IsWhole()
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

/// <summary>What one instance knows of one processor.</summary>
/// <param name="Circuit">One of the states of a circuit breaker, as in the metrics.</param>
/// <param name="Availability">What routing may do with it, as in the metrics.</param>
/// <param name="ExpectedSeconds">How long a charge is expected to take.</param>
/// <param name="InFlight">Charges in flight.</param>
/// <param name="Calls">Charges of the last seconds by how long they took, in the buckets of the metrics.</param>
internal sealed record LaneReading(
    string Circuit, string Availability, double ExpectedSeconds, int InFlight, long[] Calls)
{
    /// <summary>False when something is missing, because another version wrote it.</summary>
    public bool IsWhole() =>
        Circuit is not null && Availability is not null && Calls is not null && double.IsFinite(ExpectedSeconds);
}

/// <summary>A reading in a lease row.</summary>
[JsonSourceGenerationOptions(PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase)]
[JsonSerializable(typeof(InstanceReading))]
internal sealed partial class ReadingJsonContext : JsonSerializerContext;
