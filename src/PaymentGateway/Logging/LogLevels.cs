namespace PaymentGateway.Logging;

/// <summary>
/// The levels of the log as a source of configuration, over all others: they are changed while the instance runs, and
/// the framework filters by them from then on. Any thread.
/// </summary>
internal sealed class LogLevels : ConfigurationProvider, IConfigurationSource
{
    public const string Default = "Default";

    /// <summary>With a level of their own, those of the start included: memory is bounded.</summary>
    public const int CategoriesMax = 64;

    private const string Section = "Logging:LogLevel:";

    private readonly Dictionary<string, string?> _atStart;
    private readonly object _change = new();

    /// <param name="configured">What the other sources say.</param>
    public LogLevels(IConfiguration configured) => Data = _atStart = new Dictionary<string, LogLevel>
    {
        ["Microsoft"] = LogLevel.Warning,
        ["System"] = LogLevel.Warning,
        // Program says what ends it; the host would add traces of its own.
        ["Microsoft.Extensions.Hosting.Internal.Host"] = LogLevel.None,
        // It says nothing above Information, and while anything listens it makes an Activity and a scope per request.
        ["Microsoft.AspNetCore.Hosting.Diagnostics"] = LogLevel.None,
    }.Where(level => configured[Section + level.Key] is null).ToDictionary(
        level => Section + level.Key, level => (string?)$"{level.Value}", StringComparer.OrdinalIgnoreCase);

    public IConfigurationProvider Build(IConfigurationBuilder builder) => this;

    /// <summary>Logs a category, or everything that has no level of its own, from this level on.</summary>
    /// <param name="category">A category or the begin of some, such as PaymentGateway.Settling; or Default.</param>
    /// <returns>False when too many categories have been changed already.</returns>
    public bool Change(string category, LogLevel level)
    {
        lock (_change)
        {
            var changed = new Dictionary<string, string?>(Data, StringComparer.OrdinalIgnoreCase)
            {
                [Section + category] = level.ToString(),
            };
            if (changed.Count > CategoriesMax)
                return false;

            // Whoever reads has the whole old or the whole new one.
            Data = changed;
        }

        OnReload();
        return true;
    }

    /// <summary>Back to the levels of the start.</summary>
    public void Reset()
    {
        lock (_change)
            Data = _atStart;
        OnReload();
    }
}
