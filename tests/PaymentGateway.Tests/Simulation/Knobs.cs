using Microsoft.Extensions.Configuration;

namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// What a seed chooses beside the steps: the profile, the number of processors, and limits so small that queues
/// overflow, pages end and permits lack. Some limits are those of production.
/// </summary>
internal sealed class Knobs
{
    private static readonly Processor[] All =
        [Support.Known.Default, Support.Known.Fallback, Support.Known.Third, Support.Known.Fourth];

    private readonly Random _random;
    private readonly List<(string, string?)> _settings = [];

    public Knobs(int seed)
    {
        _random = new Random(seed ^ 0x5eed);
        IsDurable = One(false, true);
        Processors = All[..One(1, 2, 2, 2, 3, 4)];
        PollsHealth = One(true, false, false);
        QueueCapacity = Set("Intake:QueueCapacity", 1, 2, 4, 20_000, 20_000);
        Set("Intake:MaxBatch", 1, 2, 3, 500);
        Set("Intake:Linger", "0s", "50ms");
        MaxConcurrency = Set("Settling:MaxConcurrency", 1, 2, 256);
        Set("Settling:LookupConcurrency", 1, 2, 16);
        Set("Settling:Linger", "0s", "50ms");
        MaxBuffered = Set("Recording:MaxBuffered", 1, 3, 20_000);
        Set("Recording:MaxBatch", 1, 2, 3, 1_000);
        Set("Recording:Linger", "0s", "50ms");
        BacklogPage = One(2, 3, 1_000);
        AdoptionPage = One(2, 3, 500);
        RowsMax = One(2, 3, LeasingOptions.RowsMaxDefault);
        DoubtsMax = One(2, 4, 8_000);
    }

    public bool IsDurable { get; }

    public Processor[] Processors { get; }

    /// <summary>Instances do not in every schedule, because that is half of their statements.</summary>
    public bool PollsHealth { get; }

    public int QueueCapacity { get; }

    public int MaxConcurrency { get; }

    public int MaxBuffered { get; }

    public int BacklogPage { get; }

    public int AdoptionPage { get; }

    public int RowsMax { get; }

    public int DoubtsMax { get; }

    /// <summary>The most payments in doubt that an instance may have: those that wait anywhere are few then.</summary>
    public int DoubtsBound => (Processors.Length * (DoubtsMax + MaxConcurrency)) + QueueCapacity + AdoptionPage;

    public GatewayOptions Options(string ledger)
    {
        (string Key, string? Value)[] settings =
        [
            ("ConnectionStrings:Ledger", ledger), ("Gateway:Ledger:Retention", "1d"),
            ("Gateway:Storage:Profile", IsDurable ? "Durable" : "Unlogged"), .. _settings,
            .. Processors.SelectMany(OfProcessor),
        ];
        var options = GatewayOptions.Read(new SettingsReader(new ConfigurationBuilder()
            .AddInMemoryCollection(settings.ToDictionary(one => one.Key, one => one.Value)).Build()));
        return options with
        {
            Intake = options.Intake with { BacklogPage = BacklogPage },
            Leasing = options.Leasing with
            {
                AdoptionPage = AdoptionPage,
                TakeOverPage = AdoptionPage,
                RowsMax = RowsMax,
            },
            Settling = options.Settling with { DoubtsMax = DoubtsMax },
        };
    }

    public override string ToString() => string.Create(
        CultureInfo.InvariantCulture,
        $"{(IsDurable ? "Durable" : "Unlogged")}, {Processors.Length} processors{(PollsHealth ? ", health" : "")}, "
        + $"{string.Join(' ', _settings)}, pages {BacklogPage} {AdoptionPage} {RowsMax}, doubts {DoubtsMax}");

    private static (string, string?)[] OfProcessor(Processor processor)
    {
        var key = $"Gateway:Processors:{char.ToUpperInvariant(processor.Name[0])}{processor.Name[1..]}";
        return
        [
            ($"{key}:BaseUrl", $"http://127.0.0.1:800{processor.Id}"), ($"{key}:AdminToken", "123"),
            ($"{key}:Fee", processor.Fee.ToString(CultureInfo.InvariantCulture)),
        ];
    }

    private T One<T>(params T[] of) => of[_random.Next(of.Length)];

    private T Set<T>(string name, params T[] of) where T : notnull
    {
        var chosen = One(of);
        _settings.Add(($"Gateway:{name}", string.Create(CultureInfo.InvariantCulture, $"{chosen}")));
        return chosen;
    }
}
