namespace PaymentGateway;

/// <summary>
/// Entry point: create, run. A wrong setting ends it with one line that names the setting. `healthcheck` only asks.
/// </summary>
internal static class Program
{
    /// <summary>Runs the gateway until it is told to stop.</summary>
    /// <returns>0 after a clean stop, 78 (EX_CONFIG of sysexits.h) when a setting is wrong.</returns>
    public static async Task<int> Main(string[] args)
    {
        if (args is [HealthcheckVerb.Name])
            return await HealthcheckVerb.RunAsync();

        try
        {
            await using var app = GatewayApp.Create(args);
            await app.RunAsync();
            return 0;
        }
        catch (ConfigurationException wrong)
        {
            await Console.Error.WriteLineAsync(wrong.Message);
            return 78;
        }
    }
}
