using PaymentGateway.Cli;
using PaymentGateway.Hosting;

namespace PaymentGateway;

/// <summary>A wrong setting ends the program with one line that names the setting.</summary>
internal static class Program
{
    /// <returns>
    /// 0 after a clean stop, 78 when a setting is wrong, 70 when a part failed; another verb's own exit code.
    /// </returns>
    public static async Task<int> Main(string[] args)
    {
        if (args is [HealthcheckVerb.Name])
            return await HealthcheckVerb.RunAsync();
        if (CommandLine.SettingsOfRun(args) is not { } settings)
            return await CommandLine.InvokeAsync(args, Console.Out, Console.Error);

        // The runtime reads this variable at its first socket. Work then runs on in the socket's thread, because a
        // hop to the pool, several a payment, costs more than the work. Nothing may block there (RowReading).
        Environment.SetEnvironmentVariable("DOTNET_SYSTEM_NET_SOCKETS_INLINE_COMPLETIONS", "1");

        try
        {
            await using var app = GatewayApp.Create(settings);
            return await RunAsync(app);
        }
        catch (ConfigurationException wrong)
        {
            await Console.Error.WriteLineAsync(wrong.Message);
            return ExitCodes.WrongSetting;
        }
    }

    /// <summary>Runs a host to its end; by itself a host ends with 0 when a part fails.</summary>
    /// <exception cref="ConfigurationException">A part found a setting to be wrong, or an address is taken.</exception>
    public static async Task<int> RunAsync(WebApplication app)
    {
        try
        {
            await app.StartAsync();
        }
        catch (Exception unbound) when (unbound is IOException or SocketException)
        {
            // Kestrel says which address.
            throw new ConfigurationException("ASPNETCORE_URLS or Gateway__Admin__Urls", unbound.Message);
        }
        catch (OperationCanceledException) when (app.Lifetime.ApplicationStopping.IsCancellationRequested)
        {
            // A part failed, or a stop was requested, during the start. Failures names a part that failed.
        }

        var failures = new List<Exception>();
        // Read before the parts are told to stop: a part that has ended by then has failed.
        using var stopping = app.Lifetime.ApplicationStopping.Register(() => failures.AddRange(Failures(app)));
        await app.WaitForShutdownAsync();
        if (failures.Find(failure => failure is ConfigurationException) is { } wrong)
            throw wrong;

        foreach (var failure in failures)
            await Console.Error.WriteLineAsync(failure.ToString());
        return failures.Count > 0 ? ExitCodes.Failed : ExitCodes.Ok;
    }

    private static IEnumerable<Exception> Failures(WebApplication app)
    {
        foreach (var part in app.Services.GetServices<IHostedService>().OfType<BackgroundService>())
            if (part.ExecuteTask is { IsFaulted: true, Exception: { } failed })
                yield return failed.InnerException ?? failed;
    }
}
