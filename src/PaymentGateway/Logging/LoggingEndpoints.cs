using System.Text.Json;
using System.Text.Json.Serialization;
using Microsoft.Extensions.Options;
using PaymentGateway.Answering;
using PaymentGateway.Configuring;

namespace PaymentGateway.Logging;

/// <summary>
/// GET /admin/logging: from which levels on this instance logs. PUT changes one, DELETE takes all changes back; so does
/// a restart. Each instance has its own, and its name is in the answer.
/// </summary>
internal static partial class LoggingEndpoints
{
    public const string Path = "/admin/logging";

    private const int CategoryLengthMax = 128;

    /// <param name="admin">The group of an operator's calls.</param>
    public static void MapLogging(this IEndpointRouteBuilder admin)
    {
        var levels = admin.ServiceProvider.GetRequiredService<LogLevels>();
        var filter = admin.ServiceProvider.GetRequiredService<IOptionsMonitor<LoggerFilterOptions>>();
        var options = admin.ServiceProvider.GetRequiredService<GatewayOptions>();
        var log = admin.ServiceProvider.GetRequiredService<ILoggerFactory>().CreateLogger(typeof(LoggingEndpoints));
        admin.MapGet(Path, context => AnswerAsync(context, filter, options));
        admin.MapPut(Path, async context =>
        {
            if (await ChangeAsync(context, levels, log))
                await AnswerAsync(context, filter, options);
        });
        admin.MapDelete(Path, context =>
        {
            levels.Reset();
            Log.Reset(log);
            return AnswerAsync(context, filter, options);
        });
    }

    /// <returns>False when the body is wrong and a problem was answered.</returns>
    private static async Task<bool> ChangeAsync(HttpContext context, LogLevels levels, ILogger log)
    {
        if (!context.Request.HasJsonContentType())
        {
            await ProblemAnswer.WriteAsync(
                context, 415, "Unsupported media type", "The body must be application/json.", "Content-Type");
            return false;
        }

        var (change, wrong) = await ReadAsync(context.Request);
        var category = change?.Category ?? LogLevels.Default;
        if (change is null)
            await RefuseAsync(context, wrong, "The body must be a JSON object with level, and category or not.");
        else if (LevelOf(change.Level) is not { } level)
            await RefuseAsync(
                context, "level", $"level must be one of {string.Join(", ", Enum.GetNames<LogLevel>())}.");
        else if (category.Length is 0 or > CategoryLengthMax || !category.All(IsOfCategory)
            // The framework throws at a second one, and from then on at each new logger.
            || category.Count(letter => letter == '*') > 1)
            await RefuseAsync(
                context, "category",
                $"category must be at most {CategoryLengthMax} letters, digits, dots, underscores and one star.");
        else if (!levels.Change(category, level))
            await RefuseAsync(
                context, "category",
                $"{LogLevels.CategoriesMax} categories have a level of their own; DELETE takes them back.");
        else
        {
            Log.Changed(log, category, level);
            return true;
        }

        return false;
    }

    /// <returns>Null, and the wrong member where the body names one, when it cannot be read.</returns>
    private static async Task<(LogLevelChange? Change, string? Wrong)> ReadAsync(HttpRequest request)
    {
        try
        {
            // Kestrel lets no longer one pass, and reading it as a stream makes the binary larger.
            var body = new byte[GatewayOptions.BodyBytesMax];
            var length = await request.Body.ReadAtLeastAsync(body, body.Length, throwOnEndOfStream: false);
            return (JsonSerializer.Deserialize(
                body.AsSpan(0, length), LoggingJsonContext.Default.LogLevelChange), null);
        }
        catch (JsonException malformed)
        {
            return (null, malformed.Path is ['$', '.', .. var member] ? member : null);
        }
    }

    // By the names alone: Enum.Parse takes numbers and lists too.
    private static LogLevel? LevelOf(string? name)
    {
        foreach (var level in Enum.GetValues<LogLevel>())
            if ($"{level}".Equals(name, StringComparison.OrdinalIgnoreCase))
                return level;
        return null;
    }

    private static bool IsOfCategory(char letter) => char.IsAsciiLetterOrDigit(letter) || letter is '.' or '_' or '*';

    private static Task RefuseAsync(HttpContext context, string? field, string detail) =>
        ProblemAnswer.WriteAsync(context, 400, "Invalid log level", detail, field);

    private static Task AnswerAsync(
        HttpContext context, IOptionsMonitor<LoggerFilterOptions> filter, GatewayOptions options)
    {
        var (current, categories) = (filter.CurrentValue, new SortedDictionary<string, string>(StringComparer.Ordinal));
        var everything = current.MinLevel;
        foreach (var rule in current.Rules.Where(rule => rule.ProviderName is null))
            if (rule.CategoryName is { } category)
                categories[category] = $"{rule.LogLevel}";
            else
                everything = rule.LogLevel ?? everything;
        return JsonAnswer.WriteAsync(
            context, new LogLevelsAnswer(options.InstanceName, $"{everything}", categories),
            LoggingJsonContext.Default.LogLevelsAnswer);
    }

    private static partial class Log
    {
        // A warning, so that whoever reads the log knows why lines begin or end here.
        [LoggerMessage(4, LogLevel.Warning, "The log level of {Category} is {Level} now")]
        public static partial void Changed(ILogger log, string category, LogLevel level);

        [LoggerMessage(5, LogLevel.Warning, "All log levels are those of the start again")]
        public static partial void Reset(ILogger log);
    }
}

/// <summary>What PUT takes; an unknown member is refused.</summary>
/// <param name="Level">Trace, Debug, Information, Warning, Error, Critical or None, in any case.</param>
/// <param name="Category">A category or the begin of some; without it, all that have no level of their own.</param>
[JsonUnmappedMemberHandling(JsonUnmappedMemberHandling.Disallow)]
internal sealed record LogLevelChange(string? Level, string? Category);

/// <summary>From which levels on an instance logs.</summary>
/// <param name="Level">Of all categories that are not named.</param>
internal sealed record LogLevelsAnswer(string Instance, string Level, SortedDictionary<string, string> Categories);
