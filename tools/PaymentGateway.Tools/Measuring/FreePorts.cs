using System.Net.NetworkInformation;

namespace PaymentGateway.Tools.Measuring;

/// <summary>Ports for a system of one's own, so that a measurement can run beside a system that is up.</summary>
internal static class FreePorts
{
    // Below the range from which the kernel takes ports for outgoing connections.
    private const int Least = 20_000;
    private const int Count = 10_000;

    /// <summary>The settings with a free port wherever the caller has named none.</summary>
    public static SystemSettings Added(SystemSettings settings)
    {
        var taken = IPGlobalProperties.GetIPGlobalProperties().GetActiveTcpListeners()
            .Select(listener => ((IPEndPoint)listener).Port).ToHashSet();
        foreach (var name in new[] { "PORT", "DEFAULT_PORT", "FALLBACK_PORT", "ADMIN_PORT" })
        {
            int port;
            do
                port = Least + Random.Shared.Next(Count);
            while (taken.Contains(port + 1) || !taken.Add(port));
            // An operator's port is the first instance's, and the next one is the second's.
            taken.Add(port + 1);
            if (settings[name] is null)
                settings = settings.With((name, Figure.Of(port)));
        }

        return settings;
    }
}
