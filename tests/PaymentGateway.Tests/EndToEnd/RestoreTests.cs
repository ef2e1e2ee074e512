namespace PaymentGateway.Tests.EndToEnd;

/// <summary>A backup, more load, the backup restored: `restored` keeps payments from a second charge.</summary>
[Collection(AlsoOneAfterAnother.Name)]
public sealed class RestoreTests : IDisposable
{
    private const string FallbackAfter = "Gateway__Routing__FallbackAfter";
    private const int Waiting = 40;
    private const int Later = 30;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("payment-gateway-restore");
    private readonly LoadLedger _before = new();
    private readonly LoadLedger _later = new();

    public void Dispose() => _folder.Delete(recursive: true);

    [GatewaySystemTheory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_restored_ledger_charges_twice_unless_restored_made_it_safe(bool isMadeSafe)
    {
        await using var system = await GatewaySystem.UpAsync(
            [
                .. SystemSettings.From([]).WithReconciliation().OfGateway().Select(one => (one.Key, one.Value)),
                ("Gateway__Settling__CallTimeout", "1s"), ("Gateway__Settling__InDoubtHorizon", "1s"),
                (FallbackAfter, "1440m"),
            ]);
        await BackUpUnderLoadAsync(system);
        await GoOnAsync(system);

        await RunAsync(system, "pg_restore", "--clean", "--if-exists", "--single-transaction", "-d");
        if (isMadeSafe)
            Assert.Equal(0, (await VerbAsync(system, "restored")).ExitCode);
        await system.StartAsync(GatewaySystem.First, GatewaySystem.Second);
        await Eventually.HoldsAsync(system.IsIdleAsync, "what the backup has is settled");

        var stores = await system.StoresAsync();
        var wrong = new LedgerComparison(_before, await system.Database.SettlementsAsync(), stores)
            .DifferencesAfterLoss().Select(difference => difference.Count);
        Assert.Equal(isMadeSafe ? [] : [$"{Waiting} charged by several processors"], wrong);
        if (isMadeSafe)
            await OnlyLaterPaymentsDifferAsync(system);
    }

    // Default fails, so the last ones wait when the backup is made; no epoch has used fallback.
    private async Task BackUpUnderLoadAsync(GatewaySystem system)
    {
        await LoadDriver.RunClientsAsync(system.Client, _before, clients: 4, payments: 40, TimeSpan.Zero);
        await LedgerReachesAsync(system, 40);
        await system.Default.SetFailureAsync(true);
        await LoadDriver.RunClientsAsync(system.Client, _before, clients: 4, payments: Waiting, TimeSpan.Zero);
        await RunAsync(system, "pg_dump", "-Fc", "-f");
        Assert.Empty(await system.Fallback.PaymentsAsync());
    }

    // The payments of the backup are charged at fallback, and others come that it does not have.
    private async Task GoOnAsync(GatewaySystem system)
    {
        await system.StopAsync(GatewaySystem.First, GatewaySystem.Second);
        var settings = system.ChildSettings(GatewaySystem.First);
        settings[FallbackAfter] = "0s";
        await using var instance = GatewaySystemInstance.Start(settings);
        await Eventually.HoldsAsync(() => Eventually.IsReadyAsync(system.Client), "the instance is ready");
        await Eventually.HoldsAsync(
            async () => (await system.Fallback.PaymentsAsync()).Count == Waiting, "fallback has those that waited");
        await system.Default.SetFailureAsync(false);
        await LoadDriver.RunClientsAsync(system.Client, _later, clients: 2, payments: Later, TimeSpan.Zero);
        await LedgerReachesAsync(system, 40 + Waiting + Later);
        _before.NoClientSawAnError();
        _later.NoClientSawAnError();
        instance.Terminate();
        await instance.EndAsync(TimeSpan.FromSeconds(20));
    }

    // Reconciliation counts them, and the processors have each once.
    private static async Task OnlyLaterPaymentsDifferAsync(GatewaySystem system)
    {
        await LedgerReachesAsync(system, 40 + Waiting);
        await Eventually.HoldsAsync(
            async () =>
            {
                // At first the window ends before they came.
                var run = await VerbAsync(system, "reconcile", "--repair", "--json");
                Assert.True(run.ExitCode is 0 or 65, $"{run}");
                var differences = JsonNode.Parse(run.Output)!["differences"]!.AsArray();
                return differences.All(one => $"{one!["kind"]}" == "unknown")
                    && differences.Sum(one => (int)one!["payments"]!) == Later;
            },
            $"the {Later} payments that came after the backup are unknown, and nothing else differs");
    }

    private static Task LedgerReachesAsync(GatewaySystem system, int settlements) => Eventually.HoldsAsync(
        async () => await system.Database.CountAsync("settlements") == settlements, $"{settlements} are settled");

    // A program of PostgreSQL on the system's database; its last option takes the file.
    private async Task RunAsync(GatewaySystem system, string program, params string[] options)
    {
        var server = new NpgsqlConnectionStringBuilder(system.ConnectionString);
        var file = Path.Combine(_folder.FullName, "backup");
        string[] last = options[^1] == "-d" ? [server.Database!, file] : [file, server.Database!];

        var run = await ProgramRun.RunAsync(
            [
                Path.Combine(PostgresServer.Binaries!, program), "-h", server.Host!, "-U", server.Username!,
                .. options, .. last,
            ]);

        Assert.True(run.ExitCode == 0, $"{program}: {run.Errors}");
    }

    private static Task<ProgramRun> VerbAsync(GatewaySystem system, params string[] arguments) => ProgramRun.RunAsync(
        [GatewaySystemParts.Gateway, .. arguments], null,
        [
            .. system.ChildSettings(GatewaySystem.First).Select(pair => (pair.Key, pair.Value)),
            ("PAYMENT_GATEWAY_URL", system.Address.ToString()),
        ]);
}
