namespace PaymentGateway.Tests.EndToEnd;

/// <summary>More connections come to an instance than it has descriptors, while the other one is idle.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class ShortOfDescriptorsTests(RunningSystem running) : OnRunningSystem(running)
{
    // It has some 25 while it is idle.
    private const int Descriptors = 90;
    private const int Connections = 300;
    private const int Payments = 40;

    private readonly List<RawConnection> _held = [];

    private GatewaySystemInstance _short = null!;

    // The one that nginx prefers at light load.
    public override async Task InitializeAsync()
    {
        await base.InitializeAsync();
        await System.StopAsync(GatewaySystem.First);
        _short = System.StartChild(GatewaySystem.First, "prlimit", $"--nofile={Descriptors}:{Descriptors}");
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(System.Api1), "the first instance is ready");
    }

    public override async Task DisposeAsync()
    {
        _held.ForEach(one => one.Dispose());
        await _short.DisposeAsync();
        await base.DisposeAsync();
    }

    [GatewaySystemFact]
    public async Task Its_payments_are_accepted_by_the_other_instance_and_it_keeps_its_lease()
    {
        var ends = new List<Task<RawAnswers>>();
        while (_held.Count < Connections)
        {
            _held.Add(await RawConnection.ToInstanceAsync(System, GatewaySystem.First));
            ends.Add(_held[^1].ReadToEndAsync(TimeSpan.FromMinutes(2)));
        }

        await Eventually.HoldsAsync(
            () => ends.Count(end => end.IsCompleted) >= Connections - (Descriptors / 2), "the excess is closed");
        await LoadDriver.RunClientsAsync(System.Client, Ledger, clients: 1, Payments, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(System, Ledger);

        Ledger.NoClientSawAnError();
        Assert.Equal(Payments, Ledger.Acknowledged);
        foreach (var one in _held)
            one.Dispose();
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(System.Api1), "it takes connections again");
        Assert.Equal(2, await System.Database.CountAsync("leases WHERE closed_at IS NULL"));
    }
}
