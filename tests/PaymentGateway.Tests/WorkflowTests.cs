using YamlDotNet.RepresentationModel;

namespace PaymentGateway.Tests;

public sealed class WorkflowTests
{
    private readonly YamlNode _workflow = Read();

    private IEnumerable<YamlMappingNode> Jobs =>
        ((YamlMappingNode)_workflow["jobs"]).Children.Values.Cast<YamlMappingNode>();

    private IEnumerable<YamlMappingNode> Steps => Jobs.SelectMany(StepsOf);

    [Fact]
    public void Every_job_runs_a_part_of_our_script_and_nothing_else()
    {
        Assert.All(Jobs, job => Assert.Equal(
            ".ci/run ${{ matrix.part }}",
            Assert.Single(StepsOf(job), step => step.Children.ContainsKey("run"))["run"].ToString()));
        Assert.True(File.GetUnixFileMode(Repository.PathOf(".ci", "run")).HasFlag(UnixFileMode.UserExecute));
    }

    [Theory]
    [InlineData("change", "units", "end-to-end", "alone", "net10.0", "containers")]
    [InlineData("night", "chaos", "simulate", "mutants", "ha", "soak")]
    public void The_parts_of_a_job_are_functions_of_our_script(string job, params string[] expected)
    {
        var script = File.ReadAllLines(Repository.PathOf(".ci", "run"));
        var matrix = (YamlMappingNode)_workflow["jobs"][job]["strategy"]["matrix"];
        var more = matrix.Children.TryGetValue("include", out var included) ? (YamlSequenceNode)included : new();

        var parts = ((YamlSequenceNode)matrix["part"]).Concat(more.Select(one => one["part"]))
            .Select(part => part.ToString()).ToList();

        Assert.Equal(expected, parts);
        Assert.All(parts, part => Assert.Contains(
            script, line => line.StartsWith($"{part}() {{", StringComparison.Ordinal)));
    }

    [Theory]
    [InlineData("units", "'Needs!=system&Lane!=Alone'")]
    [InlineData("end-to-end", "'Needs=system&Lane!=Alone'")]
    [InlineData("measured", "Lane=Alone")]
    public void Three_parts_have_every_test_together(string part, string filter)
    {
        var script = File.ReadAllText(Repository.PathOf(".ci", "run"));

        var body = script.Split($"\n{part}() {{\n")[1].Split("\n}\n")[0];

        Assert.Contains($"  tests {filter}\n", body + '\n', StringComparison.Ordinal);
    }

    [Fact]
    public void The_workflow_may_only_read_and_every_job_has_a_time_limit_root_a_cache_and_results()
    {
        var permission = Assert.Single(((YamlMappingNode)_workflow["permissions"]).Children);

        Assert.Equal(("contents", "read"), (permission.Key.ToString(), permission.Value.ToString()));
        // No part is said to be lacking.
        Assert.DoesNotContain(
            "LACKS", File.ReadAllText(Repository.PathOf(".github", "workflows", "ci.yml")), StringComparison.Ordinal);
        foreach (var job in Jobs)
        {
            Assert.False(job.Children.ContainsKey("permissions"));
            Assert.InRange(int.Parse(job["timeout-minutes"].ToString()), 1, 350);
            // Some tests need root.
            Assert.Contains("--privileged", job["container"]["options"].ToString(), StringComparison.Ordinal);
            Assert.Single(StepsOf(job), step => Uses(step, "actions/cache"));
            // Results of red runs too.
            Assert.Equal(
                "${{ !cancelled() }}",
                Assert.Single(StepsOf(job), step => Uses(step, "actions/upload-artifact"))["if"].ToString());
        }
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
        var pinned = JsonNode.Parse(File.ReadAllText(Repository.PathOf("global.json")))!["sdk"]!["version"]!;
        var version = Version.Parse(pinned.ToString()).ToString(2) + ".x";

        Assert.All(Jobs, job => Assert.Equal(
            version,
            StepsOf(job).Single(step => Uses(step, "actions/setup-dotnet"))["with"]["dotnet-version"].ToString()));
    }

    private static bool Uses(YamlMappingNode step, string action) =>
        step.Children.TryGetValue("uses", out var used)
        && used.ToString().StartsWith($"{action}@", StringComparison.Ordinal);

    private static IEnumerable<YamlMappingNode> StepsOf(YamlMappingNode job) =>
        ((YamlSequenceNode)job["steps"]).Cast<YamlMappingNode>();

    private static YamlNode Read()
    {
        var yaml = new YamlStream();
        using var text = File.OpenText(Repository.PathOf(".github", "workflows", "ci.yml"));
        yaml.Load(text);
        return Assert.Single(yaml.Documents).RootNode;
    }
}
