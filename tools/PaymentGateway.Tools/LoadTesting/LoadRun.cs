using CliWrap;
using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>One run of a simulation: its figures, Gatling's report and a picture in a folder.</summary>
internal sealed class LoadRun(LoadPlan plan, SystemSettings given, string folder, TextWriter output)
{
    private static readonly string[] RowHead =
    [
        "date", "commit", "mode", "p50 / p99 ms", "lag", "inconsistencies", "score", "CPU s / 1,000", "peak memory",
    ];

    private readonly SystemSettings _settings = given.With(plan.Settings);

    private readonly string _log = Path.Combine(folder, "gatling.log");

    private string Mode => plan.Mode + (_settings.Limits ? ", limits" : "");

    /// <returns>Maven's own status: not 0 when the simulation found something wrong.</returns>
    public async Task<int> RunAsync(CancellationToken cancellation)
    {
        Directory.CreateDirectory(folder);
        await using var systemLog = TextWriter.Synchronized(File.AppendText(Path.Combine(folder, "system.log")));
        await using var target = await LoadTarget.StartAsync(plan.Side, _settings, folder, systemLog, cancellation);
        await output.WriteLineAsync($"{plan.Simulation} against {target.Url}");
        var status = await SimulateAsync(target, cancellation);
        KeepReport();
        if (RunResult.In(folder) is not { } result)
        {
            foreach (var line in File.ReadLines(_log).TakeLast(20))
                await Console.Error.WriteLineAsync(line);
            throw new ToolException($"the run left no result; log: {_log}");
        }

        await Picture.DrawAsync(folder, result.Headline(plan.Simulation, Mode), output, cancellation);
        await ShowAsync(result);
        return status;
    }

    private async Task<int> SimulateAsync(LoadTarget target, CancellationToken cancellation)
    {
        await using var lines = TextWriter.Synchronized(File.CreateText(_log));
        string[] properties =
        [
            $"-Dgatling.simulationClass=paymentgateway.{plan.Simulation}", $"-Durl={target.Url}",
            $"-Dprocessors={string.Join(',', target.Settings.Processors.Select(
                name => $"{name}={target.Settings.UrlOf(name)}"))}",
            $"-Dtoken={_settings.Token ?? "123"}", $"-Dresults={folder}",
            $"-Dcommit={await Commit.ReadAsync(cancellation)}", $"-Dmode={Mode}",
            $"-DsystemEnv={target.EnvironmentFile}",
        ];
        // Cancelled it is killed with its children: Maven by itself does not take Gatling along.
        var maven = await Cli.Wrap(Maven.Command[0])
            .WithArguments([.. Maven.Command.Skip(1), "gatling:test", .. properties, .. plan.Properties])
            .WithWorkingDirectory(Repository.Root)
            .WithEnvironmentVariables(Maven.Variables)
            .WithValidation(CommandResultValidation.None)
            .WithStandardOutputPipe(PipeTarget.ToDelegate(line => Note(lines, line)))
            .WithStandardErrorPipe(PipeTarget.ToDelegate(lines.WriteLine))
            .ExecuteAsync(cancellation);
        return maven.ExitCode;
    }

    private void Note(TextWriter lines, string line)
    {
        lines.WriteLine(line);
        if (MavenLog.ProgressIn(line) is { } progress)
            output.WriteLine("  " + progress);
    }

    private void KeepReport()
    {
        if (MavenLog.ReportFolderIn(File.ReadAllText(_log)) is { } report && Directory.Exists(report))
            Directory.Move(report, Path.Combine(folder, "report"));
    }

    private async Task ShowAsync(RunResult result)
    {
        await output.WriteLineAsync($"\n{result.Json}");
        await output.WriteLineAsync(string.Join('\n', Figure.Head(RowHead)));
        await output.WriteLineAsync(await File.ReadAllTextAsync(Path.Combine(folder, "row.md")));
        await output.WriteLineAsync($"figures  {folder}/result.json");
        if (Directory.Exists(Path.Combine(folder, "report")))
            await output.WriteLineAsync($"report   {folder}/report/index.html");
        if (File.Exists(Path.Combine(folder, "picture.png")))
            await output.WriteLineAsync($"picture  {folder}/picture.png");
    }
}

/// <summary>The figures that a simulation left in its folder.</summary>
public sealed class RunResult
{
    private readonly JsonElement _figures;

    private RunResult(string json)
    {
        Json = json;
        using var document = JsonDocument.Parse(json);
        _figures = document.RootElement.Clone();
    }

    public string Json { get; }

    /// <summary>Null when the run ended before it had figures.</summary>
    public static RunResult? In(string folder) =>
        Path.Combine(folder, "result.json") is var file && File.Exists(file) ? Of(File.ReadAllText(file)) : null;

    public static RunResult Of(string json) => new(json);

    /// <summary>A figure as it is written; null when the run has none of this name.</summary>
    public string? this[string name] =>
        _figures.TryGetProperty(name, out var figure) ? figure.ToString() : null;

    public double? Number(string name) =>
        _figures.TryGetProperty(name, out var figure) && figure.ValueKind == JsonValueKind.Number
            ? figure.GetDouble()
            : null;

    public string Text(string name) => this[name] ?? "-";

    /// <summary>The payments' p99 in each stage of an official load; none of another.</summary>
    public IReadOnlyList<(double FromSecond, double P99Ms)> Stages =>
        _figures.TryGetProperty("stages", out var stages)
            ? [.. stages.EnumerateArray().Select(stage =>
                (stage.GetProperty("fromSecond").GetDouble(), stage.GetProperty("p99Ms").GetDouble()))]
            : [];

    /// <summary>One line for the head of the picture.</summary>
    public string Headline(string simulation, string mode) =>
        $"{simulation} ({mode}): {this["accepted"]} payments, p50 {this["p50Ms"]} ms, p99 {this["p99Ms"]} ms"
        + (this["lag"] is { } lag ? $", lag {lag}" : "")
        + (this["inconsistencies"] is { } count ? $", inconsistencies {count}" : "");
}
