using Microsoft.AspNetCore.Server.Kestrel.Core;
using Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets;
using ProcessorSimulator.Administering;
using ProcessorSimulator.Auditing;
using ProcessorSimulator.Charging;
using ProcessorSimulator.HealthChecking;

namespace ProcessorSimulator;

/// <summary>Composes one payment processor, in memory; the program and the tests start it from here.</summary>
internal static class SimulatorApp
{
    public static WebApplication Create(string[] args, TimeProvider? clock = null)
    {
        var builder = WebApplication.CreateSlimBuilder([.. args, "--hostBuilder:reloadConfigOnChange=false"]);
        var options = SimulatorOptions.Read(builder.Configuration);
        builder.Logging.SetMinimumLevel(LogLevel.Warning);
        // As long as this category may log, the host makes an activity and a log scope for each call.
        builder.Logging.AddFilter("Microsoft.AspNetCore.Hosting.Diagnostics", LogLevel.None);
        // Says a start that failed once more, over a hundred lines; Program says it in one.
        builder.Logging.AddFilter("Microsoft.Extensions.Hosting.Internal.Host", LogLevel.None);
        builder.Services.Configure<KestrelServerOptions>(server =>
        {
            server.AddServerHeader = false;
            server.Limits.MaxRequestBodySize = 64 * 1024;
        });
        // No handler blocks, so a call can run on the thread that received it.
        builder.Services.Configure<SocketTransportOptions>(sockets => sockets.UnsafePreferInlineScheduling = true);
        // Everything is in memory, so a stop has nothing to save and nothing to wait for.
        builder.Services.Configure<HostOptions>(host => host.ShutdownTimeout = TimeSpan.Zero);

        clock ??= TimeProvider.System;
        var connections = new Connections(clock);
        builder.Services.Configure<SocketTransportOptions>(
            sockets => sockets.CreateBoundListenSocket = connections.Listen);
        builder.Services.Configure<KestrelServerOptions>(
            server => server.ConfigureEndpointDefaults(endpoint => endpoint.Use(connections.Follow)));

        var app = builder.Build();
        app.Lifetime.ApplicationStopped.Register(connections.Dispose);
        MapCalls(app, options, clock, connections);
        return app;
    }

    private static void MapCalls(
        WebApplication app, SimulatorOptions options, TimeProvider clock, Connections connections)
    {
        var stopping = app.Lifetime.ApplicationStopping;
        var switches = new Switches(options);
        var ledger = new PaymentLedger(options.MaxPayments);
        var calls = new CallCounters();
        var faults = new Faults(stopping);
        var limiter = new PaymentLimiter(calls);
        var window = new HealthWindow(clock);
        var token = new AdminToken(switches);
        app.Lifetime.ApplicationStopped.Register(window.Dispose);
        app.Lifetime.ApplicationStopped.Register(limiter.Dispose);

        var faulty = new FaultyCharge(faults, clock, stopping);
        var log = app.Services.GetRequiredService<ILogger<PaymentEndpoints>>();
        new PaymentEndpoints(ledger, switches, limiter, calls, faulty, clock, log, stopping).Map(app);
        new LookUpEndpoints(ledger, limiter, faults, calls).Map(app);
        new HealthEndpoints(window, switches, ledger, faults, calls).Map(app);
        new AdminEndpoints(ledger, switches, calls, options.FeePerTransaction).Map(app, token);
        new FaultEndpoints(faults, connections).Map(app, token);
        new AuditEndpoints(ledger, calls, limiter, faults).Map(app, token);
    }
}
