namespace PaymentGateway.Tests.Compose;

/// <summary>The Dockerfile, parsed: its stages with their instructions, continued lines joined.</summary>
internal sealed partial class DockerfileText
{
    private DockerfileText(
        IReadOnlyList<DockerfileStage> stages, IReadOnlyDictionary<string, string> defaults) =>
        (Stages, Defaults) = (stages, defaults);

    public static DockerfileText OfRepository { get; } = Parse(File.ReadAllText(Repository.PathOf("Dockerfile")));

    public IReadOnlyList<DockerfileStage> Stages { get; }

    /// <summary>The arguments before the first stage, and what each is unless the build says otherwise.</summary>
    public IReadOnlyDictionary<string, string> Defaults { get; }

    public DockerfileStage this[string stage] => Stages.Single(one => one.Name == stage);

    /// <summary>The last instruction of that name in a stage or in those that it stands on.</summary>
    public string? Last(string stage, string name) =>
        this[stage].All(name).LastOrDefault() is { } own ? own
        : Stages.Any(below => below.Name == this[stage].From) ? Last(this[stage].From, name)
        : null;

    private static DockerfileText Parse(string text)
    {
        var lines = text.Split('\n');
        var joined = Continued().Replace(
            string.Join('\n', lines.Where(line => !line.TrimStart().StartsWith('#'))), " ");
        var stages = new List<DockerfileStage>();
        var defaults = new Dictionary<string, string>();
        foreach (var line in joined.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            var (name, rest) = (line.Split(' ')[0], line[(line.IndexOf(' ', StringComparison.Ordinal) + 1)..].Trim());
            if (name == "FROM")
            {
                var from = rest.Split(' ');
                Assert.True(from is [_, "AS", _], $"a stage without a name: {line}");
                stages.Add(new DockerfileStage(from[2], from[0], []));
            }
            else if (stages.Count == 0)
            {
                Assert.True(name == "ARG" && rest.Contains('='), $"before the first stage: {line}");
                defaults.Add(rest.Split('=')[0], rest.Split('=', 2)[1]);
            }
            else
            {
                stages[^1].Instructions.Add((name, rest));
            }
        }

        return new DockerfileText(stages, defaults);
    }

    [GeneratedRegex(@"\\\n\s*")]
    private static partial Regex Continued();
}

/// <summary>A stage: its name, the image or the stage that it begins with, and what follows.</summary>
internal sealed record DockerfileStage(string Name, string From, List<(string Name, string Text)> Instructions)
{
    public IEnumerable<string> All(string name) =>
        Instructions.Where(one => one.Name == name).Select(one => one.Text);
}
