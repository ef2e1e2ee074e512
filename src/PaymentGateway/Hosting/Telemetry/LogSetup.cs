using Microsoft.Extensions.Configuration.Memory;
using Microsoft.Extensions.Logging.Console;

namespace PaymentGateway.Hosting.Telemetry;

/// <summary>The log of an instance: lines on the standard output.</summary>
internal static class LogSetup
{
    private static readonly Dictionary<string, string?> DefaultLevels = new()
    {
        ["Logging:LogLevel:Microsoft"] = "Warning",
        ["Logging:LogLevel:System"] = "Warning",
        // Program logs the failure that ends it; the host would add a trace.
        ["Logging:LogLevel:Microsoft.Extensions.Hosting.Internal.Host"] = "None",
        // They log nothing above Information; with a listener they would make an Activity and a scope per request.
        ["Logging:LogLevel:Microsoft.AspNetCore.Hosting.Diagnostics"] = "None",
    };

    public static void AddLog(this WebApplicationBuilder builder, LogFormat format)
    {
        // Before all other sources: each of them overrides a level.
        builder.Configuration.Sources.Insert(0, new MemoryConfigurationSource { InitialData = DefaultLevels });
        builder.Logging.ClearProviders();
        // None, because LogFormatter writes the trace; otherwise each request would have a scope for it.
        builder.Logging.Configure(static log => log.ActivityTrackingOptions = ActivityTrackingOptions.None);
        builder.Services.AddSingleton<ConsoleFormatter>(
            provider => new LogFormatter(format, provider.GetRequiredService<TimeProvider>()));
        builder.Logging.AddConsole(static console =>
        {
            console.FormatterName = LogFormatter.FormatterName;
            // A socket's thread must not wait for a reader of the log, which shows how many lines were dropped.
            console.QueueFullMode = ConsoleLoggerQueueFullMode.DropWrite;
        });
    }
}
