namespace PaymentGateway.Tests.Support;

/// <summary>The settings of a system of the tests' own: a run directory and ports that nobody else has.</summary>
public static class GatewaySystemSettings
{
    // Variables that the caller of the tests may have set for another system.
    private static readonly string[] Foreign =
    [
        "PROCESSORS", "DEFAULT_URL", "FALLBACK_URL", "PROFILE", "LEDGER", "MULTIPLEXING",
        "POOL", "TOKEN", "ADMIN_PORT", "FRESH", "PG_ARGS", "RELAY_DIR", "RELAY_DEFAULT_URL", "RELAY_FALLBACK_URL",
        "LIMITS",
    ];

    // Each is given once, or what a test has stopped would leave its port to another. The processes of tests that run
    // side by side begin apart.
    private static int _given = Environment.ProcessId % 20 * 500;

    /// <summary>The variables of the surrounding shell, without those that it has set for gateways.</summary>
    public static SystemSettings OfShell { get; } = Clean(SystemSettings.FromEnvironment());

    /// <summary>An operator's calls are answered through nginx, but where a test gives them a port.</summary>
    public static SystemSettings Of(IEnumerable<(string Name, string Value)> settings)
    {
        var port = FreePort();
        return OfShell.With(
        [
            ("NO_PUBLISH", "1"),
            ("RUN_DIR", Path.Combine(Path.GetTempPath(), $"payment-gateway-tests.{Path.GetRandomFileName()}")),
            ("PORT", port),
            ("ADMIN_PORT", port),
            ("DEFAULT_PORT", FreePort()),
            ("FALLBACK_PORT", $"{TwoFreePorts()}"), // The next one is a third processor's.
            .. settings.Select(setting => (setting.Name, (string?)setting.Value)),
        ]);
    }

    private static SystemSettings Clean(SystemSettings settings) => settings.With(settings.Variables.Keys
        .Where(name => name.StartsWith("Gateway__", StringComparison.OrdinalIgnoreCase) || Foreign.Contains(name))
        .Select(name => (name, (string?)null)).ToArray());

    public static string FreePort() => $"{TakePort()}";

    /// <summary>A port for the first instance, whose next one is the second's: nothing listens at either now.</summary>
    public static int TwoFreePorts()
    {
        var (port, next) = (0, TakePort());
        while (next != port + 1)
            (port, next) = (next, TakePort());
        return port;
    }

    public static bool IsFree(int port)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.Bind(new IPEndPoint(IPAddress.Any, port));
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }

    // From 20,000 to 29,999: below the range from which the kernel takes ports for outgoing connections.
    private static int TakePort()
    {
        while (true)
            if (20_000 + Interlocked.Increment(ref _given) % 10_000 is var port && IsFree(port))
                return port;
    }
}
