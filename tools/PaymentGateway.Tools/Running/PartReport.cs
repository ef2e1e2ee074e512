namespace PaymentGateway.Tools.Running;

/// <summary>What happened to a part, with the last lines that it logged.</summary>
internal static class PartReport
{
    private const int LinesMax = 5;

    public static ToolException Of(RunFolder folder, string part, string what)
    {
        var log = folder.LogOf(part);
        var last = File.Exists(log) ? File.ReadLines(log).TakeLast(LinesMax) : [];
        string[] lines = [$"{part} {what}; log: {log}", .. last.Select(line => $"  | {line}")];
        return new ToolException(string.Join('\n', lines));
    }
}
