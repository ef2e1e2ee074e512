using PaymentGateway.Tools.Limiting;

namespace PaymentGateway.Tests.Compose;

/// <summary>The challenge's budget over the whole compose file, and the same shares in force natively.</summary>
public sealed class ComposeBudgetTests
{
    private const decimal CpusMax = 1.5m;
    private const int MegabytesMax = 350;

    private static readonly string[] Parts = ["nginx", "api1", "api2", "postgres"];

    [Fact]
    public void All_services_together_stay_within_1_5_CPU_and_350_MB()
    {
        var services = ComposeProject.Challenge.Services.ToList();
        var (cpus, megabytes) = (services.Sum(one => one.Cpus), services.Sum(one => one.MemoryMegabytes));

        Assert.InRange(cpus, CpusMax, CpusMax); // What is not given out helps nobody.
        Assert.InRange(megabytes, 1, MegabytesMax);
        Assert.Equal(services.Single(one => one.Name == "api1").Cpus, services.Single(one => one.Name == "api2").Cpus);
    }

    [Fact]
    public void Native_limits_are_the_shares_that_the_compose_file_says_and_are_read_from_it()
    {
        var expected = Parts.Select(part => ComposeProject.Challenge[part])
            .Select(one => FormattableString.Invariant($"{one.Name} {one.Cpus:0.00} {one.MemoryMegabytes}"));
        var megabytes = ComposeProject.Challenge.Services.Sum(one => one.MemoryMegabytes);

        var lines = ComposeSplit.Lines(ComposeSplit.Read()).ToList();

        Assert.Equal(expected, lines[..^1]);
        Assert.Equal(FormattableString.Invariant($"sum {CpusMax:0.00} {megabytes}"), lines[^1]);
    }

    [Fact]
    public void No_override_changes_a_share_of_the_budget()
    {
        foreach (var project in ComposeProject.All)
            Assert.All(Parts, part => Assert.Equal(
                (ComposeProject.Challenge[part].Cpus, ComposeProject.Challenge[part].MemoryMegabytes),
                (project[part].Cpus, project[part].MemoryMegabytes)));
    }
}
