using System.Net.Http.Headers;
using static PaymentGateway.Tests.Support.Manifests;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>Pods of ops/kubernetes start, are moved, are lost, and one gets the name of another.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class PodTests : IAsyncLifetime
{
    // Stored at the processor without an answer when a node is lost.
    private const int Unanswered = 5;
    private const int Payments = 40;

    // How long a pod has from SIGTERM on: the hook takes its part of the grace period.
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(
        int.Parse(Text(PodOf(Pods.Instance)["terminationGracePeriodSeconds"]))
        - int.Parse(Text(ContainerOf(Pods.Instance)["lifecycle"]!["preStop"]!["sleep"]!["seconds"])));

    private readonly LoadLedger _ledger = new();
    private Pods _pods = null!;

    public async Task InitializeAsync()
    {
        if (Pods.SkipReason is not null)
            return;

        _pods = await Pods.UpAsync();
        await using var job = _pods.StartPod(Pods.Migration, "migrate-x7k2p");
        var (exitCode, output, errors) = await job.Process.EndAsync(TimeSpan.FromSeconds(60));
        Assert.True(exitCode == 0, output + errors);
    }

    public async Task DisposeAsync()
    {
        if (_pods is not null)
            await _pods.DisposeAsync();
    }

    [PodFact]
    public async Task A_pod_starts_with_the_rights_of_its_manifest_pays_and_shows_its_metrics_by_token_alone()
    {
        var pod = await _pods.ReadyPodAsync("gateway-6f7d-a");

        await LoadDriver.RunClientsAsync(pod.Client, _ledger, clients: 4, Payments, TimeSpan.Zero);
        await LedgerCheck.AgreesAsync(_pods, _ledger);

        _ledger.NoClientSawAnError();
        Assert.True(await pod.PassesAsync("livenessProbe"));
        Assert.False(await Eventually.IsReadyAsync(pod.Client, "metrics"));
        Assert.False(await Eventually.IsReadyAsync(pod.Operator, "metrics"));
        pod.Operator.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", Pods.Token);
        Assert.True(await Eventually.IsReadyAsync(pod.Operator, "metrics"));
        Assert.Equal(1, await _pods.Database.CountAsync("leases WHERE instance = 'gateway-6f7d-a/gateway-6f7d-a'"));
    }

    // As by the drain of a node or a new version: the new pod is ready before the old one is asked to stop.
    [PodFact]
    public async Task A_pod_that_is_moved_under_load_stops_within_its_grace_period_and_no_payment_is_lost()
    {
        var old = await _pods.ReadyPodAsync("gateway-6f7d-a");
        await _pods.Default.SetDelayAsync(TimeSpan.FromMilliseconds(200));
        await LoadDriver.RunClientsAsync(old.Client, _ledger, clients: 8, Payments, TimeSpan.Zero);

        var moved = await _pods.ReadyPodAsync("gateway-6f7d-b");
        await LoadDriver.RunClientsAsync(old.Client, _ledger, clients: 8, Payments, TimeSpan.Zero);
        _pods.Forget(old);
        old.Process.Terminate();
        var (exitCode, output, errors) = await InTime.EndsAsync(
            Grace, old.Process.EndAsync(TimeSpan.FromMinutes(2)), "the stop of a pod");
        await LoadDriver.RunClientsAsync(moved.Client, _ledger, clients: 8, Payments, TimeSpan.Zero);

        Assert.True(exitCode == 0, output + errors);
        _ledger.NoClientSawAnError();
        await LedgerCheck.AgreesAsync(_pods, _ledger);
        await old.DisposeAsync();
    }

    // A node that is cut off from the cluster goes on with its pod: the new one runs beside the old one, and has its
    // name where a StatefulSet's pod is deleted by force.
    [PodTheory]
    [InlineData("gateway-6f7d-b")]
    [InlineData("gateway-6f7d-a")]
    public async Task Payments_of_a_lost_node_are_settled_once_by_a_pod_of_another_or_the_same_name(string name)
    {
        var lost = await _pods.ReadyPodAsync("gateway-6f7d-a");
        await _pods.Default.SetFaultsAsync(new { afterInsert = "hang", times = Unanswered });
        await LoadDriver.RunClientsAsync(lost.Client, _ledger, clients: 8, Payments, TimeSpan.Zero);
        await _pods.Default.HoldsAsync(Unanswered);
        _pods.Forget(lost);
        lost.Process.Send(Signal.Stop);

        await _pods.ReadyPodAsync(name);
        await _pods.Default.ClearFaultsAsync();
        await LedgerCheck.AgreesAsync(_pods, _ledger, within: TimeSpan.FromSeconds(60));
        lost.Process.Send(Signal.Continue);
        await Eventually.HoldsAsync(() => lost.PassesAsync("readinessProbe"), "the lost pod has a lease again");
        await LoadDriver.RunClientsAsync(lost.Client, _ledger, clients: 4, Payments, TimeSpan.Zero);

        await LedgerCheck.AgreesAsync(_pods, _ledger, within: TimeSpan.FromSeconds(60));
        _ledger.NoClientSawAnError();
        await lost.DisposeAsync();
    }
}
