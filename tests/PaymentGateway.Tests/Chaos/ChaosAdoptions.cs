using System.Globalization;
using System.Text.RegularExpressions;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Chaos;

/// <summary>Who adopted what, and how soon after a death, from the logs of both instances.</summary>
public sealed partial class ChaosAdoptions
{
    // After an outage of the database nobody closes leases until its own renewals were steady for a lease.
    private static readonly TimeSpan DatabaseSettles = TimeSpan.FromSeconds(6);

    private readonly List<(int Epoch, DateTime At, int Count)> adoptions = [];
    private readonly List<(string Part, int Epoch, DateTime At)> beginnings = [];

    public ChaosAdoptions(GatewaySystem system)
    {
        foreach (var part in new[] { GatewaySystem.First, GatewaySystem.Second })
        {
            var log = system.ReadLog(part);
            foreach (Match line in Adopted().Matches(log))
                adoptions.Add((Number(line, 3), Time(line), Number(line, 2)));
            foreach (Match line in Begins().Matches(log))
                beginnings.Add((part, Number(line, 2), Time(line)));
        }
    }

    /// <summary>Of epochs that ended without saying goodbye, so perhaps sent: in doubt.</summary>
    public int FromEpochs => adoptions.Where(adoption => adoption.Epoch != 0).Sum(adoption => adoption.Count);

    /// <summary>Freed by a clean stop.</summary>
    public int FromStops => adoptions.Where(adoption => adoption.Epoch == 0).Sum(adoption => adoption.Count);

    /// <summary>From each kill to the first adoption of what that epoch left, where it left anything.</summary>
    public IEnumerable<(ChaosKill Kill, TimeSpan Took, bool DatabaseWasSteady)> After(
        IEnumerable<ChaosKill> kills, IReadOnlyCollection<(DateTime Gone, DateTime Back)> databaseAway)
    {
        foreach (var kill in kills)
        {
            var epoch = beginnings.Where(line => line.Part == kill.Part && line.At < kill.At)
                .OrderBy(line => line.At).LastOrDefault().Epoch;
            var first = adoptions.Where(line => line.Epoch == epoch && epoch != 0).Select(line => line.At)
                .DefaultIfEmpty(DateTime.MinValue).Min();
            if (first == DateTime.MinValue)
                continue;

            var steady = !databaseAway.Any(away => away.Gone < first && away.Back + DatabaseSettles > kill.At);
            yield return (kill, first - kill.At, steady);
        }
    }

    private static int Number(Match line, int group) =>
        int.Parse(line.Groups[group].ValueSpan, CultureInfo.InvariantCulture);

    private static DateTime Time(Match line) => DateTime.Parse(
        line.Groups[1].ValueSpan, CultureInfo.InvariantCulture, DateTimeStyles.AdjustToUniversal);

    [GeneratedRegex(@"^(\S+Z) .*\b(\d+) payments adopted from epoch (\d+)", RegexOptions.Multiline)]
    private static partial Regex Adopted();

    [GeneratedRegex(@"^(\S+Z) .*\bEpoch (\d+) begins", RegexOptions.Multiline)]
    private static partial Regex Begins();
}
