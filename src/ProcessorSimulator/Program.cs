namespace ProcessorSimulator;

/// <summary>Entry point of the published program: create, run, and say in one line why a start failed.</summary>
internal static class Program
{
    public static async Task<int> Main(string[] args)
    {
        try
        {
            await using var app = SimulatorApp.Create(args);
            await RunAsync(app);
            return 0;
        }
        catch (WrongSettingException wrong)
        {
            await Console.Error.WriteLineAsync(wrong.Message);
            return 1;
        }
        catch (IOException taken)
        {
            // Kestrel's exception for an address that another program listens on.
            await Console.Error.WriteLineAsync($"ASPNETCORE_URLS: {taken.Message}");
            return 1;
        }
    }

    /// <summary>Runs until it is told to stop, which may be before it has started.</summary>
    public static async Task RunAsync(WebApplication app)
    {
        var stopping = app.Lifetime.ApplicationStopping;
        try
        {
            await app.RunAsync();
        }
        catch (OperationCanceledException) when (stopping.IsCancellationRequested)
        {
            // The host breaks its start off by this. Nothing is stored yet.
        }
    }
}
