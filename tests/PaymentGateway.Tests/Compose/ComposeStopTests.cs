using PaymentGateway.Tests.EndToEnd;

namespace PaymentGateway.Tests.Compose;

/// <summary>The native system stopped as compose stops it: the same order, signals and grace periods.</summary>
[Collection(Alone.Name), Trait(Alone.Lane, Alone.Name)]
public sealed class ComposeStopTests
{
    [GatewaySystemFact]
    public async Task Stopped_in_the_compose_files_order_with_its_signals_nothing_acknowledged_is_lost()
    {
        await using var system = await GatewaySystem.UpAsync();
        await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(200));
        var ledger = new LoadLedger();
        var load = LoadDriver.RunAtRateAsync(system.Client, ledger, perSecond: 150, TimeSpan.FromSeconds(3));
        await Eventually.HoldsAsync(() => ledger.Acknowledged > 100, "payments are acknowledged before the stop");

        foreach (var step in ComposeProject.Challenge.StopOrder())
        {
            foreach (var part in step)
                GatewaySystemInstance.Signal(system.PidOf(part.Name), part.StopSignal);
            await Task.WhenAll(step.Select(part => EndsAsync(system, part)));
        }

        await load;
        await system.StartAsync("postgres", GatewaySystem.First, GatewaySystem.Second, "nginx");
        await LedgerCheck.AgreesAsync(system, ledger);
        Assert.Contains("\"ledger\":\"kept\"", await system.Client.GetStringAsync("readyz"));
        // Whom nginx let in before it closed the port got an answer.
        Assert.Equal(0, ledger.CountOf(LoadOutcome.Unavailable));
    }

    [Fact]
    public void The_signals_of_make_down_are_those_of_the_compose_file()
    {
        foreach (var name in PartNames.Counted)
            Assert.Equal(ComposeProject.Challenge[name].StopSignal, (int)Part.Named(name).StopSignal);
    }

    private static async Task EndsAsync(GatewaySystem system, ComposeService part)
    {
        var waited = Stopwatch.StartNew();
        var pid = system.PidOf(part.Name);
        while (ProcessStatus.ReadLiving(pid) is not null)
        {
            Assert.True(waited.Elapsed < part.StopGrace, $"{part.Name} would have been killed");
            await Task.Delay(10);
        }
    }
}
