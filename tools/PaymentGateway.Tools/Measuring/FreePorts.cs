using System.Net;
using System.Net.NetworkInformation;
using PaymentGateway.Tools.Running;

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
        foreach (var name in new[] { "PORT", "DEFAULT_PORT", "FALLBACK_PORT" })
        {
            int port;
            do
                port = Least + Random.Shared.Next(Count);
            while (!taken.Add(port));
            if (settings[name] is null)
                settings = settings.With((name, Figure.Of(port)));
        }

        return settings;
    }
}
