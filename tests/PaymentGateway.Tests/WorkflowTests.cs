using YamlDotNet.RepresentationModel;

namespace PaymentGateway.Tests;

/// <summary>The workflows run what we run, with an SDK that global.json takes; that of changes may only read.</summary>
public sealed class WorkflowTests
{
    private const string Changes = "ci.yml";
    private const string Part = "part.yml";
    private const string Release = "release.yml";

    private static readonly Regex Target = new(@"^make ([a-z-]+)$");

    private readonly YamlNode _workflow = Read(Changes);

    private readonly YamlMappingNode _part = Assert.Single(JobsOf(Read(Part)));

    private IEnumerable<YamlMappingNode> Jobs => JobsOf(_workflow);

    [Fact]
    public void Every_job_runs_a_part_of_our_script_and_nothing_else()
    {
        Assert.All(Jobs, job => Assert.Equal($"./.github/workflows/{Part}", job["uses"].ToString()));
        Assert.All(Jobs, job => Assert.Equal("${{ matrix.part }}", job["with"]["part"].ToString()));
        Assert.Equal(
            ".ci/run ${{ inputs.part }}",
            Assert.Single(StepsOf(_part), step => step.Children.ContainsKey("run"))["run"].ToString());
        Assert.True(File.GetUnixFileMode(Repository.PathOf(".ci", "run")).HasFlag(UnixFileMode.UserExecute));
    }

    [Theory]
    [InlineData(
        Changes, "change", "units", "end-to-end", "on net10.0 end-to-end", "alone", "long", "searched", "containers")]
    [InlineData(
        Changes, "night", "chaos", "on net10.0 chaos", "on net10.0 alone", "postgres 16", "postgres 17", "postgres 18",
        "arm64", "simulate", "mutants", "ha", "odd", "upgrade", "soak")]
    [InlineData(
        Release, "parts", "end-to-end", "alone", "long", "chaos", "on net10.0 end-to-end", "on net10.0 alone",
        "on net10.0 chaos")]
    public void The_parts_of_a_job_are_functions_of_our_script(string file, string job, params string[] expected)
    {
        var script = File.ReadAllLines(Repository.PathOf(".ci", "run"));
        var matrix = (YamlMappingNode)Read(file)["jobs"][job]["strategy"]["matrix"];

        var parts = ((YamlSequenceNode)matrix["part"]).Select(part => part.ToString()).ToList();

        Assert.Equal(expected, parts);
        Assert.All(parts, part => Assert.Contains(
            script, line => line.StartsWith($"{Name(part)}() {{", StringComparison.Ordinal)));

        static string Name(string part) => part.Replace("on net10.0 ", "", StringComparison.Ordinal).Split(' ')[0];
    }

    [Theory]
    [InlineData("units", "'Needs!=system&Lane!=Alone&Lane!=Long'")]
    [InlineData("end-to-end", "'Needs=system&Lane!=Alone&Lane!=Long'")]
    [InlineData("measured", "Lane=Alone")]
    [InlineData("long", "Lane=Long")]
    public void Four_parts_have_every_test_together(string part, string filter)
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
            "LACKS", File.ReadAllText(Repository.PathOf(".github", "workflows", Part)), StringComparison.Ordinal);
        Assert.All(Jobs, job => Assert.InRange(int.Parse(job["with"]["minutes"].ToString()), 1, 350));
        Assert.All(Jobs.Append(_part), job => Assert.False(job.Children.ContainsKey("permissions")));
        Assert.Equal("${{ inputs.minutes }}", _part["timeout-minutes"].ToString());
        // Some tests need root.
        Assert.Contains("--privileged", _part["container"]["options"].ToString(), StringComparison.Ordinal);
        Assert.Single(StepsOf(_part), step => Uses(step, "actions/cache"));
        // Results of red runs too.
        Assert.Equal(
            "${{ !cancelled() }}",
            Assert.Single(StepsOf(_part), step => Uses(step, "actions/upload-artifact"))["if"].ToString());
    }

    [Theory]
    [InlineData(Part)]
    [InlineData(Release)]
    public void Actions_are_pinned_by_commit(string file)
    {
        var actions = JobsOf(Read(file)).SelectMany(StepsOf)
            .Where(step => step.Children.ContainsKey("uses")).Select(step => step["uses"].ToString());

        // A tag may be moved.
        Assert.NotEmpty(actions);
        Assert.All(actions, action => Assert.Matches("^[a-z-]+/[a-z-]+@[0-9a-f]{40}$", action));
    }

    [Theory]
    [InlineData(Part)]
    [InlineData(Release)]
    public void The_SDK_of_the_workflow_is_the_one_in_global_json(string file)
    {
        var pinned = JsonNode.Parse(File.ReadAllText(Repository.PathOf("global.json")))!["sdk"]!["version"]!;
        var version = Version.Parse(pinned.ToString()).ToString(2) + ".x";

        Assert.Equal(
            version,
            JobsOf(Read(file)).SelectMany(StepsOf).Single(step => Uses(step, "actions/setup-dotnet"))
                ["with"]["dotnet-version"].ToString());
    }

    [Fact]
    public void A_release_is_built_for_both_frameworks_tested_before_it_is_pushed_and_writes_no_code()
    {
        var job = (YamlMappingNode)Read(Release)["jobs"]["images"];
        var runs = StepsOf(job).Where(step => step.Children.ContainsKey("run"))
            .Select(step => step["run"].ToString()).ToList();
        var targets = File.ReadAllLines(Repository.PathOf("Makefile"));

        Assert.Equal(
            ["net10.0 -amd64", "net10.0 -arm64", "net8.0 -net8.0"],
            ((YamlSequenceNode)job["strategy"]["matrix"]["include"]).Select(
                one => $"{one["framework"]} {one["suffix"]}"));
        Assert.Equal(("parts", "images"), ($"{job["needs"]}", $"{Read(Release)["jobs"]["list"]["needs"]}"));
        Assert.True(runs.IndexOf("make compose-test") is >= 0 and var tested
            && tested < runs.FindIndex(run => run.Contains("docker push", StringComparison.Ordinal)));
        Assert.All(
            runs.Select(run => Target.Match(run)).Where(match => match.Success),
            match => Assert.Contains(
                targets, line => line.StartsWith($"{match.Groups[1].Value}:", StringComparison.Ordinal)));
        Assert.All(Publishing, one => Assert.Equal("read", one["permissions"]["contents"].ToString()));
    }

    [Fact]
    public void A_release_waits_for_an_approval_and_the_hosts_token_goes_to_the_hosts_own_registry_alone()
    {
        var named = File.ReadAllLines(Repository.PathOf(".github", "workflows", Release)).Where(
            line => line.Contains("github.token", StringComparison.OrdinalIgnoreCase)
                || line.Contains("GITHUB_TOKEN", StringComparison.OrdinalIgnoreCase));

        Assert.All(Publishing, job => Assert.Equal("release", job["environment"].ToString()));
        Assert.Equal((2, 2), (Publishing.Count(), named.Count()));
        Assert.All(named, line => Assert.Contains(
            "(startsWith(vars.REGISTRY, 'ghcr.io/') && github.token)", line, StringComparison.Ordinal));
    }

    [LinterTheory]
    [InlineData(Changes, "matrix.part", "matrix.piece", "\"piece\"")]
    [InlineData(Part, "inputs.part", "inputs.piece", "\"piece\"")]
    [InlineData(Release, "steps.push.outputs", "steps.pushed.outputs", "\"pushed\"")]
    public async Task The_linter_finds_nothing_in_a_workflow_and_finds_what_is_wrong(
        string name, string part, string broken, string found)
    {
        var file = Repository.PathOf(".github", "workflows", name);
        var wrong = Path.Combine(Path.GetTempPath(), $"{Path.GetRandomFileName()}.yml");
        await File.WriteAllTextAsync(
            wrong, (await File.ReadAllTextAsync(file)).Replace(part, broken, StringComparison.Ordinal));

        var (right, said) = (await LintAsync(file), await LintAsync(wrong));

        File.Delete(wrong);
        Assert.True(right.Succeeded, right.Output + right.Errors);
        Assert.False(said.Succeeded);
        Assert.Contains(found, said.Output + said.Errors, StringComparison.Ordinal);

        static Task<ShellResult> LintAsync(string workflow) =>
            Linters.RunAsync("node", "lint-workflow.js", workflow);
    }

    private static bool Uses(YamlMappingNode step, string action) =>
        step.Children.TryGetValue("uses", out var used)
        && used.ToString().StartsWith($"{action}@", StringComparison.Ordinal);

    // The jobs that may push.
    private static IEnumerable<YamlMappingNode> Publishing => JobsOf(Read(Release)).Where(
        job => job.Children.ContainsKey("permissions"));

    private static IEnumerable<YamlMappingNode> StepsOf(YamlMappingNode job) =>
        job.Children.TryGetValue("steps", out var steps) ? ((YamlSequenceNode)steps).Cast<YamlMappingNode>() : [];

    private static IEnumerable<YamlMappingNode> JobsOf(YamlNode workflow) =>
        ((YamlMappingNode)workflow["jobs"]).Children.Values.Cast<YamlMappingNode>();

    private static YamlNode Read(string file)
    {
        var yaml = new YamlStream();
        using var text = File.OpenText(Repository.PathOf(".github", "workflows", file));
        yaml.Load(text);
        return Assert.Single(yaml.Documents).RootNode;
    }
}
