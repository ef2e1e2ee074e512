namespace PaymentGateway.Tests.Compose;

/// <summary>The short loads of .ci/run where they cannot be run: an error of the clone is red.</summary>
public sealed class ShortLoadTests : IDisposable
{
    private const string Unreachable = "Could not transfer artifact a:b:pom:1 from/to central: Unknown host";

    private readonly DirectoryInfo _tools = Directory.CreateTempSubdirectory("tools");

    public void Dispose() => _tools.Delete(recursive: true);

    [GatewaySystemTheory]
    [InlineData("preview-short", "COMPILATION ERROR :", "root,maven", false, false)]
    [InlineData("preview-short", "Could not find artifact a:b:pom:1 in central", "root,maven", false, false)]
    [InlineData("preview-short", $"{Unreachable}, status code: 403", "root,maven", false, false)]
    [InlineData("preview-short", "Cannot access central in offline mode", "root,maven", true, true)]
    [InlineData("preview-short", Unreachable, "root,maven", true, true)]
    [InlineData("final-short", Unreachable, "root,maven", true, true)]
    [InlineData("preview-short", Unreachable, null, false, true)]
    public async Task Only_a_machine_that_is_said_to_lack_Maven_may_leave_a_load_out(
        string target, string said, string? lacks, bool succeeds, bool saysNotRun)
    {
        Write("javac", "exit 0");
        Write("mvn", $"echo '[ERROR] {said}'; exit 1");

        var run = await RunAsync($"{_tools.FullName}:{Environment.GetEnvironmentVariable("PATH")}", target, lacks);

        Assert.Equal(succeeds, run.ExitCode == 0);
        Assert.Equal(saysNotRun, run.Output.Contains("NOT RUN", StringComparison.Ordinal));
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

        var run = await RunAsync(_tools.FullName, "preview-short", "root,maven");

        Assert.Equal(0, run.ExitCode);
        Assert.StartsWith(
            "NOT RUN", run.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries)[^1], StringComparison.Ordinal);
    }

    private static Task<ProgramRun> RunAsync(string path, string target, string? lacks) => ProgramRun.RunAsync(
        ["make", target], null, ("PATH", path), ("MAKEFLAGS", null), ("MAKELEVEL", null), ("LACKS", lacks));

    private void Write(string tool, string command)
    {
        var path = Path.Combine(_tools.FullName, tool);
        File.WriteAllText(path, $"#!/bin/sh\n{command}\n");
        File.SetUnixFileMode(path, UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute);
    }
}
