using Microsoft.Extensions.Logging.Console;
using PaymentGateway.Configuring;

namespace PaymentGateway.Logging;

/// <summary>The log of an instance: lines on the standard output, of levels that can be changed.</summary>
internal static class LogSetup
{
    public static void AddLog(this WebApplicationBuilder builder, LogFormat format)
    {
        var levels = new LogLevels(builder.Configuration);
        builder.Services.AddSingleton(levels);
        builder.Configuration.Sources.Add(levels);

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
