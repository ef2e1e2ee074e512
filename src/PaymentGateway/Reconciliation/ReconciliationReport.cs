namespace PaymentGateway.Reconciliation;

/// <summary>
/// The findings of a reconciliation so far, and its answer. From and To are the bounds of the comparison, inclusive,
/// UTC; null where there was nothing to compare.
/// </summary>
internal sealed class ReconciliationReport(bool repair)
{
    public string Outcome =>
        Stop is not null ? "stopped"
        : Differences.Count == Repaired && !Truncated ? Repaired > 0 ? "repaired" : "agrees"
        : "differs";

    /// <summary>Why it stopped early; null when it did not.</summary>
    public string? Stopped => Stop?.Message;

    public DateTime? From => Window?.From;

    public DateTime? To => Window?.Last;

    /// <summary>The <see cref="Comparison"/> of the whole window at each processor, by their names.</summary>
    public JsonObject Processors => ByName(Compared.Keys, processor => JsonSerializer.SerializeToNode(
        Compared[processor], ReconciliationJsonContext.Default.Comparison));

    /// <summary>Calls to all processors together.</summary>
    public int Calls { get; set; }

    public bool Repair => repair;

    /// <summary>There may be more differences than were found or confirmed.</summary>
    public bool Truncated { get; set; }

    public int Repaired => Differences.Count(one => one.Repair is not (null or RepairResult.Left));

    public List<Difference> Differences { get; } = [];

    [JsonIgnore]
    public TimeWindow? Window { get; set; }

    [JsonIgnore]
    public Dictionary<Processor, Comparison> Compared { get; } = [];

    [JsonIgnore]
    public StoppedException? Stop { get; set; }

    /// <summary>An object with a member for each processor; a dictionary would enlarge the binary.</summary>
    public static JsonObject ByName(IEnumerable<Processor> processors, Func<Processor, JsonNode?> write)
    {
        var all = new JsonObject();
        foreach (var processor in processors)
            all[processor.Name] = write(processor);
        return all;
    }

    [JsonIgnore]
    public bool IsCompared { get; set; }
}

/// <summary>How far a reconciliation has come. One thread writes, any may read.</summary>
internal sealed class ReconciliationProgress
{
    /// <summary>comparing, naming, confirming or repairing.</summary>
    public string Phase { get; set; } = "comparing";

    public int Calls { get; set; }

    /// <summary>Where the comparison is, UTC.</summary>
    public DateTime At { get; set; }
}

[JsonSourceGenerationOptions(
    JsonSerializerDefaults.Web, DefaultIgnoreCondition = JsonIgnoreCondition.WhenWritingNull,
    Converters = [typeof(InstantConverter)])]
[JsonSerializable(typeof(ReconciliationReport))]
[JsonSerializable(typeof(ReconciliationProgress))]
[JsonSerializable(typeof(Comparison))]
[JsonSerializable(typeof(ProcessorSide))]
internal sealed partial class ReconciliationJsonContext : JsonSerializerContext;
