using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>
/// Makes an operator's call when its token has the role, and records a call that may change something, whatever its
/// outcome. Any thread.
/// </summary>
internal sealed partial class OperatorCalls(
    AdminTokens tokens, OperatorActionStore actions, OperatorLog operatorLog, GatewayOptions options,
    TimeProvider clock)
{
    private const int TargetLengthMax = 500;

    // Limited, because the answer waits for its record and PostgreSQL may be frozen.
    private static readonly TimeSpan StoreWithin = TimeSpan.FromSeconds(0.9);

    private static readonly object Detail = new();

    private readonly ILogger _log = operatorLog.Lines;

    /// <summary>Makes a call, or refuses it with 401, 403 or 429.</summary>
    /// <param name="by">The caller's token; null when it is missing or wrong.</param>
    /// <param name="role">The role that the call needs; null: Read for GET and HEAD, Operate for the others.</param>
    /// <param name="orPayer">Whether payers may make it too.</param>
    public Task PassAsync(
        HttpContext context, AdminToken? by, Role? role, RequestDelegate call, bool orPayer = false)
    {
        if (by is null)
            return tokens.RefuseAsync(context);

        var changesNothing = HttpMethods.IsGet(context.Request.Method) || HttpMethods.IsHead(context.Request.Method);
        var needed = role ?? (changesNothing ? Role.Read : Role.Operate);
        if (!by.Has(needed) && !(orPayer && by.Has(Role.Pay)))
            call = _ => RefuseRoleAsync(context, by, needed);
        // A payer's call is not recorded, otherwise payers could fill the table of actions. The log of nginx has it.
        return changesNothing || by.Has(Role.Pay) ? call(context) : RecordAsync(context, by, call);
    }

    public static Task RefuseRoleAsync(HttpContext context, AdminToken by, Role needed) => ProblemAnswer.WriteAsync(
        context, Problems.RoleNeeded, $"This call needs the role {needed}, and {by.Name} has {by.Role}.");

    /// <summary>Makes a call and records it with its outcome, in the log and in the database.</summary>
    public async Task RecordAsync(HttpContext context, AdminToken by, RequestDelegate call)
    {
        var outcome = "";
        try
        {
            await call(context);
            outcome = $"{context.Response.StatusCode} {context.Items[Detail]}".TrimEnd();
        }
        catch (Exception failed)
        {
            outcome = $"failed: {failed.GetType().Name}";
            throw;
        }
        finally
        {
            await StoreAsync(new OperatorAction(
                options.Instance.Name, by.Name, OperatorLog.ActionOf(context), TargetOf(context.Request), outcome,
                OperatorLog.AddressOf(context)));
        }
    }

    /// <summary>Adds a detail to the recorded outcome of a call, beside its status.</summary>
    public static void Tell(HttpContext context, string detail) => context.Items[Detail] = detail;

    private string TargetOf(HttpRequest request)
    {
        // A token there is a mistake of the caller, and must not be read by others.
        var query = request.Query.SelectMany(static one => one.Value.Append(one.Key)).Any(IsToken)
            ? "?..."
            : request.QueryString.Value;
        var target = Uri.EscapeDataString((request.RouteValues["id"] ?? request.RouteValues["name"]) as string ?? "")
            + query;
        return target.Length <= TargetLengthMax ? target : target[..TargetLengthMax];
    }

    // A plus is read as a space, and some send the word of the header too.
    private bool IsToken(string? text) =>
        text is not null && (tokens.Knows(text) || tokens.Knows(text.Replace(' ', '+'))
            || (text.StartsWith(AdminTokens.Bearer, StringComparison.OrdinalIgnoreCase)
                && tokens.Knows(text[AdminTokens.Bearer.Length..])));

    // While PostgreSQL is unavailable, only the log line records the call.
    private async Task StoreAsync(OperatorAction action)
    {
        Log.Acted(_log, action.Action, action.Actor, action.Address, action.Outcome, action.Target);
        try
        {
            await actions.AddAsync(action).WaitAsync(StoreWithin, clock);
        }
        catch (Exception lost) when (lost is DbException or TimeoutException)
        {
            Log.NotStored(_log, lost.Message);
        }
    }

    private static partial class Log
    {
        [LoggerMessage(7, LogLevel.Information, "{Action} by {Actor} from {Address}: {Outcome}; target: {Target}")]
        public static partial void Acted(
            ILogger log, string action, string actor, string address, string outcome, string target);

        [LoggerMessage(10, LogLevel.Error, "Failed to store the action before this line: {Reason}")]
        public static partial void NotStored(ILogger log, string reason);
    }
}
