using Microsoft.Extensions.Configuration.Memory;
using Microsoft.Extensions.Logging.Console;
using PaymentGateway.Configuration;

namespace PaymentGateway.Telemetry;

/// <summary>The log of an instance: lines on the standard output.</summary>
internal static class LogSetup
{
    private static readonly Dictionary<string, string?> DefaultLevels = new()
    {
        ["Logging:LogLevel:Microsoft"] = "Warning",
        ["Logging:LogLevel:System"] = "Warning",
        // Program says what ends it; the host would add traces of its own.
        ["Logging:LogLevel:Microsoft.Extensions.Hosting.Internal.Host"] = "None",
        // It says nothing above Information, and while anything listens it makes an Activity and a scope per request.
        ["Logging:LogLevel:Microsoft.AspNetCore.Hosting.Diagnostics"] = "None",
    };

    public static void AddLog(this WebApplicationBuilder builder, LogFormat format)
    {
        // Before all other sources: each of them overrides a level.
        builder.Configuration.Sources.Insert(0, new MemoryConfigurationSource { InitialData = DefaultLevels });
        builder.Logging.ClearProviders();
        // JsonLogFormatter has the trace beside the message; else it would be a scope.
        builder.Logging.Configure(static log => log.ActivityTrackingOptions = ActivityTrackingOptions.None);
        builder.Services.AddSingleton<ConsoleFormatter, JsonLogFormatter>();
        builder.Services.AddSingleton<ConsoleFormatter, TextLogFormatter>();
        if (format == LogFormat.Json)
            builder.Logging.AddConsole(static console => console.FormatterName = JsonLogFormatter.FormatterName);
        else
            builder.Logging.AddConsole(static console => console.FormatterName = TextLogFormatter.FormatterName);
        // Where nobody reads the lines, a socket's thread that writes one must not wait: it says how many it dropped.
        builder.Services.Configure<ConsoleLoggerOptions>(
            static console => console.QueueFullMode = ConsoleLoggerQueueFullMode.DropWrite);
    }
}
