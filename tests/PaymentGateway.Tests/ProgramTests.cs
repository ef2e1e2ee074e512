using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Hosting;

namespace PaymentGateway.Tests;

public sealed class ProgramTests : IAsyncLifetime
{
    private static readonly TimeSpan HangGuard = TimeSpan.FromSeconds(60);

    private readonly OwnServerDatabase _database = new();
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("gateway-program");

    private string SocketPath => Path.Combine(_directory.FullName, "api.sock");

    public Task InitializeAsync() => _database.InitializeAsync();

    public async Task DisposeAsync()
    {
        await _database.DisposeAsync();
        _directory.Delete(recursive: true);
    }

    [PostgresFact]
    public async Task A_setting_that_turns_out_wrong_after_the_start_ends_the_process_with_78()
    {
        await _database.Server.StopAsync();
        var running = RunAsync();
        using var client = UnixHttp.To(SocketPath);
        await Eventually.HoldsAsync(
            () => Eventually.IsReadyAsync(client, "healthz"), "the instance listens without PostgreSQL");

        await _database.StartAgainAsync();

        Assert.Equal(78, await running.WaitAsync(HangGuard));
    }

    [Fact]
    public async Task A_part_that_fails_ends_the_process_with_70_after_a_clean_stop()
    {
        var builder = WebApplication.CreateSlimBuilder([$"--urls=http://unix:{SocketPath}"]);
        builder.Logging.ClearProviders();
        builder.Services.AddHostedService<FailingPart>();
        await using var app = builder.Build();

        Assert.Equal(70, await Program.RunAsync(app).WaitAsync(HangGuard));
    }

    private Task<int> RunAsync() => Program.Main(
    [
        $"--urls=http://unix:{SocketPath}",
        $"--ConnectionStrings:Ledger={_database.ConnectionString}",
        "--Gateway:Storage:Profile=Durable",
        "--Gateway:Processors:Default:BaseUrl=http://127.0.0.1:9",
        "--Gateway:Processors:Fallback:BaseUrl=http://127.0.0.2:9",
        "--Gateway:Settling:DrainTimeout=1s",
    ]);

    private sealed class FailingPart : BackgroundService
    {
        protected override async Task ExecuteAsync(CancellationToken stoppingToken)
        {
            await Task.Yield();
            throw new InvalidOperationException("It broke.");
        }
    }
}
