namespace PaymentGateway.Tests.Compose;

/// <summary>The short loads of .ci/run where they cannot be run: what is wrong with the clone is red.</summary>
public sealed class ShortLoadTests : IDisposable
{
    private const string Unreachable =
        "echo '[ERROR] Could not transfer artifact a:b:pom:1 from/to central: Unknown host'; exit 1";

    private readonly DirectoryInfo _tools = Directory.CreateTempSubdirectory("tools");

    public void Dispose() => _tools.Delete(recursive: true);

    [GatewaySystemTheory]
    [InlineData("Could not find artifact io.gatling:gatling-app:jar:0 in central (https://repo.maven.apache.org)")]
    [InlineData("Non-parseable POM gatling/pom.xml: unexpected markup")]
    [InlineData("COMPILATION ERROR :")]
    public async Task A_wrong_pom_or_simulation_fails_the_run(string said)
    {
        Write("javac", "exit 0");
        Write("mvn", $"echo '[ERROR] {said}'; exit 1");

        var run = await RunAsync($"{_tools.FullName}:{Environment.GetEnvironmentVariable("PATH")}");

        Assert.NotEqual(0, run.ExitCode);
        Assert.DoesNotContain("NOT RUN", run.Output, StringComparison.Ordinal);
    }

    [GatewaySystemTheory]
    [InlineData("preview-short")]
    [InlineData("final-short")]
    public async Task Without_a_network_the_last_line_says_that_nothing_was_run(string target)
    {
        Write("javac", "exit 0");
        Write("mvn", Unreachable);

        SaysNotRun(await RunAsync($"{_tools.FullName}:{Environment.GetEnvironmentVariable("PATH")}", target));
    }

    [GatewaySystemTheory]
    [InlineData("mvn")]
    [InlineData("javac")]
    public async Task Without_Maven_or_Java_the_last_line_says_that_nothing_was_run(string missing)
    {
        Write("javac", "exit 0");
        Write("mvn", "exit 1");
        File.Delete(Path.Combine(_tools.FullName, missing));
        foreach (var folder in Environment.GetEnvironmentVariable("PATH")!.Split(':').Where(Directory.Exists))
            foreach (var tool in Directory.GetFiles(folder).Where(tool => Path.GetFileName(tool) != missing))
                if (Path.Combine(_tools.FullName, Path.GetFileName(tool)) is var link && !File.Exists(link))
                    File.CreateSymbolicLink(link, tool);

        SaysNotRun(await RunAsync(_tools.FullName));
    }

    [GatewaySystemFact]
    public async Task A_load_that_was_not_run_fails_unless_the_machine_is_said_to_lack_Maven()
    {
        Write("javac", "exit 0");
        Write("mvn", Unreachable);

        var run = await RunAsync($"{_tools.FullName}:{Environment.GetEnvironmentVariable("PATH")}", lacks: null);

        Assert.NotEqual(0, run.ExitCode);
        Assert.Contains("NOT RUN", run.Output, StringComparison.Ordinal);
    }

    private static Task<ProgramRun> RunAsync(
        string path, string target = "preview-short", string? lacks = "root,maven") =>
        ProgramRun.RunAsync(
            ["make", target], null, ("PATH", path), ("MAKEFLAGS", null), ("MAKELEVEL", null),
            ("LACKS", lacks));

    private static void SaysNotRun(ProgramRun run)
    {
        Assert.Equal(0, run.ExitCode);
        Assert.StartsWith(
            "NOT RUN", run.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries)[^1], StringComparison.Ordinal);
    }

    private void Write(string tool, string command)
    {
        var path = Path.Combine(_tools.FullName, tool);
        File.WriteAllText(path, $"#!/bin/sh\n{command}\n");
        File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
    }
}
