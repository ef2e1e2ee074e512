namespace PaymentGateway.Tests.EndToEnd;

[Collection(AlsoOneAfterAnother.Name)]
public sealed class MakeRunTests
{
    private const string Ours = "payment-gateway: ";

    [GatewaySystemFact]
    public async Task Ctrl_C_ends_a_run_and_leaves_nothing_behind()
    {
        await using var run = MakeRun.Start([]);
        await run.IsReadyAsync();
        using var client = new HttpClient { BaseAddress = run.Address };
        using var body = LoadDriver.Body(Guid.NewGuid(), 19.90m);
        using var paid = await client.PostAsync("payments", body);
        Assert.Equal(HttpStatusCode.Accepted, paid.StatusCode);
        // The challenge purges at this port; an operator's other calls are answered at ports of their own.
        using var purged = await client.PostAsync("purge-payments", null);
        Assert.Equal(HttpStatusCode.OK, purged.StatusCode);

        run.PressControlC();

        Assert.DoesNotContain(await run.EndAsync(), line => line.StartsWith(Ours, StringComparison.Ordinal));
        await run.LeavesNothingAsync();
    }

    [GatewaySystemFact]
    public async Task A_part_that_dies_ends_the_run_with_a_line_that_names_it()
    {
        await using var run = MakeRun.Start([]);
        await run.IsReadyAsync();

        run.Kill("nginx");

        var errors = await run.EndAsync();
        var line = Assert.Single(errors, line => line.StartsWith(Ours, StringComparison.Ordinal));
        Assert.StartsWith($"{Ours}nginx ended", line, StringComparison.Ordinal);
        EndsWithOne(errors);
        await run.LeavesNothingAsync();
    }

    [GatewaySystemFact]
    public async Task A_port_in_use_ends_the_start_with_one_line()
    {
        TcpListener? taken = null;
        var port = 0;
        await using var run = MakeRun.Start([], settings =>
        {
            port = MakeRun.PortOf(settings, "ADMIN_PORT");
            taken = new TcpListener(IPAddress.Loopback, port);
            taken.Start();
        });
        using var owned = taken;

        var errors = await run.EndAsync();

        Assert.EndsWith($"port {port} is in use", Single(errors), StringComparison.Ordinal);
        await run.LeavesNothingAsync("ADMIN_PORT");
    }

    [GatewaySystemFact]
    public async Task A_missing_tool_is_one_line_that_names_it()
    {
        await using var run = MakeRun.Start([("PG_BIN", "/nowhere/at/all")]);

        var errors = await run.EndAsync();

        Assert.StartsWith($"{Ours}PostgreSQL is missing", Single(errors), StringComparison.Ordinal);
        await run.LeavesNothingAsync();
    }

    // Beside make's own.
    private static string Single(string[] errors)
    {
        EndsWithOne(errors);
        return Assert.Single(errors[..^1]);
    }

    private static void EndsWithOne(string[] errors) =>
        Assert.Matches(@"^make: \*\*\* \[.*run\] Error 1$", errors[^1]);
}
