namespace PaymentGateway.Tools.Odd;

/// <summary>Looks where an operator looks: at /ops, the metrics and the logs of both instances.</summary>
internal sealed class OddOperator(string odd, SystemSettings settings, Func<string, string> logOf) : IDisposable
{
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(3);

    // What a call is expected to end as.
    private static readonly string[] Usual = ["settled", "found", "not_found"];

    private readonly HttpClient[] _instances = [.. PartNames.Instances.Select((_, at) =>
        new HttpClient(new SocketsHttpHandler { UseProxy = false })
        {
            BaseAddress = new Uri(SystemSettings.Local(settings.AdminPort + at)),
            Timeout = AnswerLimit,
        })];

    // What an instance says of its settings at its start is no news of a processor.
    private readonly int[] _linesBefore = [.. PartNames.Instances.Select(part => File.ReadLines(logOf(part)).Count())];

    private readonly SortedSet<string> _shown = new(StringComparer.Ordinal);
    private int _doubtsMax;

    /// <summary>One look at /ops.</summary>
    public async Task LookAsync()
    {
        using var limit = new CancellationTokenSource(AnswerLimit);
        try
        {
            await using var stream = await _instances[0].GetStreamAsync("ops/events", limit.Token);
            using var lines = new StreamReader(stream);
            while (await lines.ReadLineAsync(limit.Token) is { } text)
                if (text.StartsWith("data: ", StringComparison.Ordinal))
                {
                    using var view = JsonDocument.Parse(text["data: ".Length..]);
                    Note(view.RootElement);
                    return;
                }
        }
        catch (Exception late) when (late is OperationCanceledException or HttpRequestException or IOException)
        {
            // The next look has it.
        }
    }

    /// <summary>What /ops showed, which calls ended unusually by the metrics, and which events the logs have.</summary>
    public async Task<string[]> SumUpAsync()
    {
        var calls = new SortedDictionary<string, long>(StringComparer.Ordinal);
        var counter = new Regex(
            $$"""calls_total\{(?=[^}]*processor="{{odd}}")(?![^}]*"health")[^}]*outcome="(\w+)"[^}]*\} (\d+)""");
        foreach (var instance in _instances)
            foreach (Match match in counter.Matches(await instance.GetStringAsync("metrics")))
                if (match.Groups[1].Value is var ended && !Usual.Contains(ended) && match.Groups[2].Value != "0")
                    calls[ended] = calls.GetValueOrDefault(ended)
                        + long.Parse(match.Groups[2].Value, CultureInfo.InvariantCulture);
        var events = PartNames.Instances
            .SelectMany((part, at) => File.ReadLines(logOf(part)).Skip(_linesBefore[at]))
            .Select(text => Regex.Match(text, @" (?:warn|fail|crit): [\w.]+\[(\d+)\]"))
            .Where(match => match.Success).Select(match => match.Groups[1].Value).Distinct().Order();
        if (_doubtsMax > 0)
            _shown.Add($"{_doubtsMax} doubts");
        return
        [
            string.Join(", ", _shown), string.Join(", ", calls.Select(one => $"{one.Key} {one.Value}")),
            string.Join(' ', events),
        ];
    }

    public void Dispose()
    {
        foreach (var instance in _instances)
            instance.Dispose();
    }

    private void Note(JsonElement view)
    {
        _doubtsMax = Math.Max(_doubtsMax, view.GetProperty("inDoubt").GetInt32());
        var seen = view.GetProperty("processors").EnumerateArray()
            .Single(one => one.GetProperty("name").GetString() == odd);
        if (seen.GetProperty("circuit").GetString() is not "closed")
            _shown.Add("open");
        else if (seen.GetProperty("availability").GetString() is "unusable" or "probe")
            _shown.Add("unusable");
        if (seen.GetProperty("unreadable").GetBoolean())
            _shown.Add("garbled");
        if (seen.GetProperty("reportIsOverdue").GetBoolean())
            _shown.Add("mute");
    }
}
