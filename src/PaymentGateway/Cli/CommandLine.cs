using System.CommandLine;
using System.CommandLine.Invocation;

namespace PaymentGateway.Cli;

/// <summary>The verbs beside `run`. A start without a verb uses only SettingsOfRun.</summary>
internal static class CommandLine
{
    private const string RunName = "run";

    /// <summary>The settings of a start.</summary>
    /// <returns>Null when the arguments hold another verb, or ask for help.</returns>
    public static string[]? SettingsOfRun(string[] args) => args switch
    {
        [] => args,
        [RunName, .. var settings] => settings.Any(IsHelp) ? null : settings,
        [var first, ..] => IsSetting(first) ? args : null,
    };

    /// <summary>Every verb with its options; `--help` shows them.</summary>
    public static RootCommand Create() => new("Run a payment gateway, or operate one that runs.")
    {
        new Command(RunName, "Run the gateway until SIGTERM. A start without a verb does the same.")
        {
            new Argument<string[]>("settings")
            {
                Description = "A setting, such as --Gateway:Storage:Profile=Durable; docs/configuration.md lists them.",
            },
        },
        MigrateVerb.Create(), MigrateVerb.CreateRestored(), HealthcheckVerb.Create(), PaymentVerbs.CreateStatus(),
        PaymentVerbs.CreatePayments(), PaymentVerbs.CreateParked(), ReconcileVerb.Create(), PaymentVerbs.CreatePurge(),
        PaymentVerbs.CreateActions(), ProcessorVerbs.Create(), WebhookVerbs.Create(), ConformanceVerb.Create(),
        CompletionVerb.Create(),
    };

    /// <summary>Runs a verb; a failure is one line on standard error.</summary>
    /// <returns>One of <see cref="ExitCodes"/>.</returns>
    public static async Task<int> InvokeAsync(string[] args, TextWriter output, TextWriter error)
    {
        var parsed = Create().Parse(args);
        try
        {
            if (parsed.Action is ParseErrorAction)
                throw new VerbException(
                    ExitCodes.Usage, string.Join("; ", parsed.Errors.Select(wrong => wrong.Message)));

            return await parsed.InvokeAsync(new InvocationConfiguration
            {
                EnableDefaultExceptionHandler = false,
                Output = output,
                Error = error,
            });
        }
        catch (VerbException failed)
        {
            await error.WriteLineAsync(failed.Message);
            return failed.ExitCode;
        }
        catch (ConfigurationException wrong)
        {
            await error.WriteLineAsync(wrong.Message);
            return ExitCodes.WrongSetting;
        }
    }

    private static bool IsHelp(string arg) => arg is "--help" or "-h" or "-?";

    // --Gateway:Storage:Profile=Durable, --urls=…; any other word would be a misspelt verb or option.
    private static bool IsSetting(string arg)
    {
        var name = arg.Split('=')[0];
        return (name.Contains(':') && !name.StartsWith('[')) || name.TrimStart('-', '/') == "urls";
    }
}
