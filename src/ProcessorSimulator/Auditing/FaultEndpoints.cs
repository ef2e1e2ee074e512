using ProcessorSimulator.Administering;

namespace ProcessorSimulator.Auditing;

/// <summary>PUT, GET /admin/faults and POST /admin/faults/reset: for tests, ours and not the contract's.</summary>
internal sealed class FaultEndpoints(Faults faults, Connections connections)
{
    public void Map(WebApplication app, AdminToken token)
    {
        app.MapGet("/admin/faults", token.Guard(ShowAsync));
        app.MapPut("/admin/faults", token.Guard(SetAsync));
        app.MapPost("/admin/faults/reset", token.Guard(ResetAsync));
    }

    private async Task SetAsync(HttpContext context)
    {
        if (await JsonBody.ReadAsync(context, SimulatorJsonContext.Default.FaultSettings) is not { } settings)
            return;
        if (settings.Times < 1 || settings.Unanswered < 1 || settings.Status is < 400 or > 499)
        {
            context.Response.StatusCode = StatusCodes.Status400BadRequest;
            return;
        }

        await SetAsync(context, settings);
    }

    private Task ResetAsync(HttpContext context) => SetAsync(context, FaultSettings.None);

    private Task SetAsync(HttpContext context, FaultSettings settings)
    {
        faults.Set(settings);
        connections.LeaveUnanswered(settings.Unanswered, context.Connection.Id);
        return ShowAsync(context);
    }

    private Task ShowAsync(HttpContext context) =>
        JsonBody.WriteAsync(context, faults.Remaining, SimulatorJsonContext.Default.FaultSettings);
}
