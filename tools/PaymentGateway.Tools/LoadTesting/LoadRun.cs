using CliWrap;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>One run of a simulation: its figures, Gatling's report and a picture in a folder.</summary>
internal sealed class LoadRun(LoadPlan plan, SystemSettings given, string folder, TextWriter output)
{
    private readonly SystemSettings _settings = given.With(plan.Settings);

    private readonly string _log = Path.Combine(folder, "gatling.log");

    private string Mode => plan.Mode + (_settings.Limits ? ", limits" : "");

    /// <returns>Not 0 when Gatling, the simulation or the check of the ledgers found something wrong.</returns>
    public async Task<int> RunAsync(CancellationToken cancellation)
    {
        Directory.CreateDirectory(folder);
        await using var systemLog = TextWriter.Synchronized(File.AppendText(Path.Combine(folder, "system.log")));
        await using var target = await LoadTarget.StartAsync(plan.Side, _settings, folder, systemLog, cancellation);
        await output.WriteLineAsync($"{plan.Simulation} against {target.Url}");
        var use = new PartUse(target.Meter);
        var status = await SimulateAsync(target, use, cancellation);
        if (RunResult.In(folder) is not { } result)
        {
            foreach (var line in File.ReadLines(_log).TakeLast(20))
                await Console.Error.WriteLineAsync(line);
            throw new ToolException($"the run left no result; log: {_log}");
        }

        await AddAsync(result, target, use, cancellation);
        await File.WriteAllTextAsync(Path.Combine(folder, "result.json"), result.Json + "\n", cancellation);
        await Picture.DrawAsync(folder, result.Headline(), output, cancellation);
        await ShowAsync(result);
        return result.Failures.Count > 0 ? 1 : status;
    }

    private async Task<int> SimulateAsync(LoadTarget target, PartUse use, CancellationToken cancellation)
    {
        await using var lines = TextWriter.Synchronized(File.CreateText(_log));
        string[] properties =
        [
            $"-Dgatling.simulationClass=paymentgateway.{plan.Simulation}",
            $"-Dgatling.resultsFolder={Path.Combine(folder, "report")}", $"-Durl={target.Url}",
            $"-Dprocessors={string.Join(',', target.Settings.Processors.Select(
                name => $"{name}={target.Settings.UrlOf(name)}"))}",
            $"-Dtoken={_settings.Token ?? "123"}", $"-Dresults={folder}",
        ];
        // Cancelled it is killed with its children: Maven by itself does not take Gatling along.
        var maven = await Cli.Wrap(Maven.Command[0])
            .WithArguments([.. Maven.Command.Skip(1), "gatling:test", .. properties, .. plan.Properties])
            .WithWorkingDirectory(Repository.Root)
            .WithEnvironmentVariables(Maven.Variables)
            .WithValidation(CommandResultValidation.None)
            .WithStandardOutputPipe(PipeTarget.ToDelegate(line => Note(lines, line, use)))
            .WithStandardErrorPipe(PipeTarget.ToDelegate(lines.WriteLine))
            .ExecuteAsync(cancellation);
        return maven.ExitCode;
    }

    private void Note(TextWriter lines, string line, PartUse use)
    {
        lines.WriteLine(line);
        if (MavenLog.ProgressIn(line) is not { } progress)
            return;
        if (progress == MavenLog.Begins)
            use.Begin();
        if (progress == MavenLog.HasEnded)
            use.End();
        output.WriteLine("  " + progress);
    }

    private async Task AddAsync(RunResult result, LoadTarget target, PartUse use, CancellationToken cancellation)
    {
        (result["simulation"], result["mode"]) = (plan.Simulation, Mode);
        result["date"] = DateTime.UtcNow.ToString("yyyy-MM-dd", CultureInfo.InvariantCulture);
        result["commit"] = await Commit.ReadAsync(cancellation);
        await use.AddToAsync(result);
        if (target.NginxTimes is { } times)
        {
            result.AddNginxTimes(File.ReadLines(times));
            File.Delete(times);
        }

        result.AddScore();
        if (plan.Side != Measuring.SideKind.Gateway)
            return;
        using var ledger = new LedgerCheck(target);
        foreach (var wrong in await ledger.CheckAsync(result.Count("accepted"), result.Count("sent"), cancellation))
        {
            result.Fail(wrong);
            await output.WriteLineAsync($"  WRONG: {wrong}");
        }
    }

    private async Task ShowAsync(RunResult result)
    {
        await output.WriteLineAsync($"\n{result.Json}\n{string.Join('\n', result.Tables())}\n");
        await output.WriteLineAsync($"figures  {folder}/result.json");
        foreach (var (name, file) in new[] { ("report", "index.html"), ("picture", "picture.png") })
            if (Directory.EnumerateFiles(folder, file, SearchOption.AllDirectories).FirstOrDefault() is { } path)
                await output.WriteLineAsync($"{name,-8} {path}");
    }
}
