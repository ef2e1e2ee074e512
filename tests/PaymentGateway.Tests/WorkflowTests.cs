using YamlDotNet.RepresentationModel;

namespace PaymentGateway.Tests;

/// <summary>The workflow runs what we run, with an SDK that global.json takes, and may only read.</summary>
public sealed class WorkflowTests
{
    private readonly YamlNode _workflow = Read();

    private YamlNode Job => Assert.Single(((YamlMappingNode)_workflow["jobs"]).Children).Value;

    private IEnumerable<YamlMappingNode> Steps => ((YamlSequenceNode)Job["steps"]).Cast<YamlMappingNode>();

    [Fact]
    public void The_workflow_runs_our_script_and_nothing_else()
    {
        var commands = Steps.Where(step => step.Children.ContainsKey("run")).Select(step => step["run"].ToString());

        Assert.Equal(".ci/run", Assert.Single(commands));
        Assert.True(File.GetUnixFileMode(Repository.PathOf(".ci", "run")).HasFlag(UnixFileMode.UserExecute));
    }

    [Fact]
    public void The_workflow_may_only_read_and_has_a_time_limit()
    {
        var permission = Assert.Single(((YamlMappingNode)_workflow["permissions"]).Children);

        Assert.Equal(("contents", "read"), (permission.Key.ToString(), permission.Value.ToString()));
        Assert.Equal("30", Job["timeout-minutes"].ToString());
    }

    [Fact]
    public void Actions_are_pinned_by_commit()
    {
        var actions = Steps.Where(step => step.Children.ContainsKey("uses")).Select(step => step["uses"].ToString());

        // A tag may be moved.
        Assert.All(actions, action => Assert.Matches("^[a-z-]+/[a-z-]+@[0-9a-f]{40}$", action));
    }

    [Fact]
    public void The_SDK_of_the_workflow_is_the_one_in_global_json()
    {
        var setup = Steps.Single(step => step.Children.TryGetValue("uses", out var action)
            && action.ToString().StartsWith("actions/setup-dotnet@", StringComparison.Ordinal));
        var pinned = JsonNode.Parse(File.ReadAllText(Repository.PathOf("global.json")))!["sdk"]!["version"]!;

        Assert.Equal(
            Version.Parse(pinned.ToString()).ToString(2) + ".x", setup["with"]["dotnet-version"].ToString());
    }

    private static YamlNode Read()
    {
        var yaml = new YamlStream();
        using var text = File.OpenText(Repository.PathOf(".github", "workflows", "ci.yml"));
        yaml.Load(text);
        return Assert.Single(yaml.Documents).RootNode;
    }
}
