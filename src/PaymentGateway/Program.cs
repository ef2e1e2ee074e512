using System.Runtime.InteropServices;
using PaymentGateway.Cli;
using PaymentGateway.Hosting;
using PaymentGateway.Hosting.Telemetry;

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

        // The runtime reads this variable at its first socket. Continuations then run on the socket's thread, because a
        // payment's hops to the pool cost more than their work. Code there must not block (Db).
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

    /// <summary>Runs a host until it stops; on its own, a host ends with 0 even when a part failed.</summary>
    /// <exception cref="ConfigurationException">A part found a setting to be wrong, or an address is taken.</exception>
    public static async Task<int> RunAsync(WebApplication app)
    {
        try
        {
            await app.StartAsync();
        }
        catch (Exception unbound) when (unbound is IOException or SocketException)
        {
            // Kestrel's message names the address.
            throw new ConfigurationException("ASPNETCORE_URLS or Gateway__Admin__Urls", unbound.Message);
        }
        catch (OperationCanceledException) when (app.Lifetime.ApplicationStopping.IsCancellationRequested)
        {
            // A part failed, or a stop was requested, during the start. Failures names a part that failed.
        }

        // As SIGTERM: it drains. Otherwise .NET would end at once.
        using var hangup = PosixSignalRegistration.Create(PosixSignal.SIGHUP, signal =>
        {
            signal.Cancel = true;
            app.Lifetime.StopApplication();
        });
        var failures = new List<Exception>();
        // Read before the parts are stopped, because a part that has already ended has failed.
        using var stopping = app.Lifetime.ApplicationStopping.Register(() => failures.AddRange(Failures(app)));
        await app.WaitForShutdownAsync();
        await OtlpExport.SendLastAsync(app.Services);
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
