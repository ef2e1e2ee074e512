using System.Text.RegularExpressions;
using PaymentGateway.Tests.Support;

namespace PaymentGateway.Tests.Compose;

/// <summary>The Dockerfile, parsed: its stages with their instructions, continued lines joined.</summary>
internal sealed partial class DockerfileText
{
    private DockerfileText(IReadOnlyList<DockerfileStage> stages, string syntax) => (Stages, Syntax) = (stages, syntax);

    public static DockerfileText OfRepository { get; } = Parse(File.ReadAllText(Repository.PathOf("Dockerfile")));

    public IReadOnlyList<DockerfileStage> Stages { get; }

    /// <summary>The first line, where the frontend is named.</summary>
    public string Syntax { get; }

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
        foreach (var line in joined.Split('\n', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            var (name, rest) = (line.Split(' ')[0], line[(line.IndexOf(' ', StringComparison.Ordinal) + 1)..].Trim());
            if (name == "FROM")
            {
                var from = rest.Split(' ');
                Assert.True(from is [_, "AS", _], $"a stage without a name: {line}");
                stages.Add(new DockerfileStage(from[2], from[0], []));
            }
            else
            {
                stages[^1].Instructions.Add((name, rest));
            }
        }

        return new DockerfileText(stages, lines[0]);
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
