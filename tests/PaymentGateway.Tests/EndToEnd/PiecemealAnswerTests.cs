using System.Net.Sockets;
using Npgsql;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>
/// An answer of PostgreSQL may come in parts, anywhere. Nothing of the gateway waits for the rest of it in a thread
/// that serves sockets: all of them would stand.
/// </summary>
[Collection(OneAfterAnother.Name)]
public sealed class PiecemealAnswerTests(RunningSystem running)
{
    // More than the queue holds, so that whole pages come back out of the table.
    private const int Payments = 3_000;
    private const string QueueCapacity = "1000";

    private const int SplitMin = 20;

    [GatewaySystemFact]
    public async Task PostgreSQL_answers_that_arrive_in_parts_block_nothing()
    {
        var system = running.System;
        await system.ResetAsync();
        var settings = system.ChildSettings(GatewaySystem.First);
        var ledger = new NpgsqlConnectionStringBuilder(settings["ConnectionStrings__Ledger"]);
        var socket = $".s.PGSQL.{ledger.Port}";
        var directory = Directory.CreateTempSubdirectory("payment-gateway-relay.");
        var target = new UnixDomainSocketEndPoint(Path.Combine(ledger.Host!, socket));
        await using var relay = new Relay(
            new UnixDomainSocketEndPoint(Path.Combine(directory.FullName, socket)), () => target);
        relay.Set(new RelayFault(Splits: true));
        ledger.Host = directory.FullName;
        settings["ConnectionStrings__Ledger"] = ledger.ConnectionString;
        settings["Gateway__Intake__QueueCapacity"] = QueueCapacity;
        await system.StopAsync(GatewaySystem.First);
        var sent = new LoadLedger();
        try
        {
            await using var instance = GatewaySystemInstance.Start(settings);
            await Eventually.HoldsAsync(() => IsReadyAsync(system.Api1), "the instance behind the relay is ready");
            await system.Default.SetDelayAsync(TimeSpan.FromMilliseconds(300));
            await LoadDriver.RunClientsAsync(system.Api1, sent, clients: 64, Payments, TimeSpan.Zero);
            await system.Default.SetDelayAsync(TimeSpan.Zero);

            await LedgerCheck.AgreesAsync(system, sent);

            Assert.All(sent.Entries, entry => Assert.Equal(LoadOutcome.Acknowledged, entry.Outcome));
            // A batch is an answer, and the larger the load the fewer there are.
            Assert.InRange(relay.Split, SplitMin, int.MaxValue);
        }
        finally
        {
            await system.StartAsync(GatewaySystem.First);
            directory.Delete(recursive: true);
        }
    }

    private static async Task<bool> IsReadyAsync(HttpClient instance)
    {
        try
        {
            using var answer = await instance.GetAsync("readyz");
            return answer.IsSuccessStatusCode;
        }
        catch (HttpRequestException)
        {
            return false;
        }
    }
}
