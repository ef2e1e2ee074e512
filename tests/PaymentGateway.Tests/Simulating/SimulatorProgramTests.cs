using ProcessorSimulator;

namespace PaymentGateway.Tests.Simulating;

public sealed class SimulatorProgramTests
{
    private static readonly TimeSpan HangGuard = TimeSpan.FromSeconds(60);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_stop_is_clean_while_it_starts_and_afterwards(bool whileItStarts)
    {
        await using var app = SimulatorApp.Create(["--urls=http://127.0.0.1:0"]);
        using var stopping = app.Lifetime.ApplicationStarted.Register(app.Lifetime.StopApplication);
        if (whileItStarts)
            app.Lifetime.StopApplication();

        await ProcessorSimulator.Program.RunAsync(app).WaitAsync(HangGuard);
    }
}
