using System.Net.Http.Json;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using PaymentGateway.Hosting;
using PaymentGateway.Leasing;

namespace PaymentGateway.Benchmarks.Allocating;

/// <summary>Bytes that a whole gateway in this process allocates per payment: intake alone, then settlement.</summary>
internal static class AllocationRun
{
    private const string Token = "the token of a shop, as long as many are";
    private const int Warming = 6_000;

    // Fits the queue, so that nothing is read back from the table.
    private const int Payments = 15_000;
    private const int PacedPayments = 4_000;

    // Half of the official load's end: what one of two instances gets.
    private const double PacedPerSecond = 275;
    private static readonly TimeSpan SettleLimit = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan Calm = TimeSpan.FromSeconds(3);

    public static async Task<int> RunAsync(string systemEnv, bool withTypes, bool withToken)
    {
        var parts = (await File.ReadAllLinesAsync(systemEnv)).Select(line => line.Split('=', 2))
            .ToDictionary(pair => pair[0], pair => pair[1]);
        var directory = Directory.CreateTempSubdirectory("gateway");
        var socket = Path.Combine(directory.FullName, "api.sock");
        try
        {
            await using var app = Gateway(parts, socket, withToken);
            await app.StartAsync();
            using var client = new SilentClient(socket, connections: 64, withToken ? Token : null);
            using var types = withTypes ? new AllocationTypes() : null;
            await new Measurement(app, client, [parts["default_url"], parts["fallback_url"]], types).RunAsync();
            await app.StopAsync();
            return 0;
        }
        finally
        {
            directory.Delete(recursive: true);
        }
    }

    private static WebApplication Gateway(
        Dictionary<string, string> parts, string socket, bool withToken) => GatewayApp.Create(
    [
        $"--urls=http://unix:{socket}",
        $"--ConnectionStrings:Ledger={parts["connection_string"]}",
        "--Gateway:Storage:Profile=Unlogged",
        $"--Gateway:Processors:Default:BaseUrl={parts["default_url"]}",
        $"--Gateway:Processors:Fallback:BaseUrl={parts["fallback_url"]}",
        "--Logging:LogLevel:Default=None",
        .. withToken
            ? [$"--Gateway:Admin:Tokens:shop:Token={Token}", "--Gateway:Admin:Tokens:shop:Role=Pay"]
            : Array.Empty<string>(),
    ]);

    /// <summary>The phases, each between two readings of the runtime's counter.</summary>
    private sealed class Measurement(
        WebApplication app, SilentClient client, string[] processors, AllocationTypes? types)
    {
        private readonly Lease _lease = app.Services.GetRequiredService<Lease>();

        public async Task RunAsync()
        {
            await WaitForLeaseAsync();
            await FailAsync(false);
            for (var i = 0; i < 3; i++)
                client.Post(Warming / 3);
            await SettleAsync();

            Console.WriteLine("| what | payments | bytes per payment |");
            Console.WriteLine("| --- | --- | --- |");
            await IdleAsync("idle, per second");
            await FailAsync(true);
            client.Post(200);
            await Task.Delay(Calm);
            Measure("intake, 64 connections at once", Payments, () => client.Post(Payments));
            await IdleAsync("waiting for a processor, per second");
            await FailAsync(false);
            await MeasureAsync("settlement of what waits", Payments + 200, SettleAsync);

            await FailAsync(true);
            client.Post(200);
            await Task.Delay(Calm);
            Measure("intake, 275/s", PacedPayments, () => client.Post(PacedPayments, PacedPerSecond));
            await FailAsync(false);
            await MeasureAsync("settlement of what waits", PacedPayments + 200, SettleAsync);
            await MeasureAsync("intake and settlement, 275/s", PacedPayments, PayAndSettleAsync);
        }

        private async Task<int> PayAndSettleAsync()
        {
            var refused = client.Post(PacedPayments, PacedPerSecond);
            return refused + await SettleAsync();
        }

        private async Task WaitForLeaseAsync()
        {
            while (!_lease.IsTrusted)
                await Task.Delay(10);
        }

        private async Task FailAsync(bool failure)
        {
            using var http = new HttpClient();
            http.DefaultRequestHeaders.Add("X-Rinha-Token", "123");
            foreach (var processor in processors)
                (await http.PutAsJsonAsync($"{processor}/admin/configurations/failure", new { failure }))
                    .EnsureSuccessStatusCode();
        }

        private async Task<int> SettleAsync()
        {
            using var limit = new CancellationTokenSource(SettleLimit);
            while (_lease.Current.Unsettled.Count > 0)
                await Task.Delay(50, limit.Token);
            return 0;
        }

        private static async Task IdleAsync(string what)
        {
            var before = GC.GetTotalAllocatedBytes(precise: true);
            await Task.Delay(Calm);
            var bytes = GC.GetTotalAllocatedBytes(precise: true) - before;
            Console.WriteLine($"| {what} | | {bytes / Calm.TotalSeconds:0} |");
        }

        private void Measure(string what, int payments, Func<int> run) =>
            MeasureAsync(what, payments, () => Task.FromResult(run())).Wait();

        private async Task MeasureAsync(string what, int payments, Func<Task<int>> run)
        {
            types?.Reset();
            var before = GC.GetTotalAllocatedBytes(precise: true);
            var refused = await run();
            var bytes = GC.GetTotalAllocatedBytes(precise: true) - before;
            var note = refused > 0 ? $" ({refused} refused)" : "";
            Console.WriteLine($"| {what}{note} | {payments} | {(double)bytes / payments:0} |");
            foreach (var (type, share) in types?.Top(25) ?? [])
                Console.WriteLine($"    {(double)bytes / payments * share,6:0}  {type}");
        }
    }
}
