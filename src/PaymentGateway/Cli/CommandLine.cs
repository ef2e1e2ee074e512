using System.CommandLine;
using System.CommandLine.Invocation;
using PaymentGateway.Configuration;

namespace PaymentGateway.Cli;

/// <summary>The verbs beside `run`. Nothing of it is touched by a start without a verb.</summary>
internal static class CommandLine
{
    private const string RunName = "run";

    /// <summary>The settings of a start, when that is what the arguments ask for.</summary>
    /// <returns>Null when they hold another verb, or ask for help.</returns>
    public static string[]? SettingsOfRun(string[] args) => args switch
    {
        [] => args,
        [RunName, .. var settings] => settings.Any(IsHelp) ? null : settings,
        [var first, ..] => IsSetting(first) ? args : null,
    };

    /// <summary>Every verb with its options; what `--help` shows.</summary>
    public static RootCommand Create()
    {
        var run = new Command(RunName, "Takes payments until it is told to stop; the same without a verb.")
        {
            new Argument<string[]>("settings")
            {
                Description = "Such as --Gateway:Storage:Profile=Durable; docs/configuration.md has them all.",
            },
        };
        return new RootCommand("A payment gateway: runs it, or asks one that runs.")
        {
            run, MigrateVerb.Create(), HealthcheckVerb.Create(), StatusVerb.Create(), PaymentsVerb.Create(),
            OperatorVerbs.CreateParked(), ReconcileVerb.Create(), OperatorVerbs.CreatePurge(),
            OperatorVerbs.CreateActions(), CompletionVerb.Create(),
        };
    }

    /// <summary>Runs a verb; what is wrong goes to standard error in one line.</summary>
    /// <returns>One of <see cref="ExitCodes"/>.</returns>
    public static async Task<int> InvokeAsync(string[] args, TextWriter output, TextWriter error)
    {
        var parsed = Create().Parse(args);
        if (parsed.Action is ParseErrorAction)
        {
            await error.WriteLineAsync(string.Join("; ", parsed.Errors.Select(wrong => wrong.Message))
                .ReplaceLineEndings(" "));
            return ExitCodes.Usage;
        }

        try
        {
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

/// <summary>A verb ends without what it was asked for; the message is one line.</summary>
internal sealed class VerbException(int exitCode, string message) : Exception(message.ReplaceLineEndings(" "))
{
    /// <summary>One of <see cref="ExitCodes"/>.</summary>
    public int ExitCode => exitCode;
}

/// <summary>What the program ends with: those of sysexits.h, and 1 for a plain no. docs/cli.md has them all.</summary>
internal static class ExitCodes
{
    public const int Ok = 0;

    /// <summary>There is no such payment; healthcheck: not ready.</summary>
    public const int No = 1;

    /// <summary>EX_USAGE: the arguments are wrong.</summary>
    public const int Usage = 64;

    /// <summary>EX_DATAERR: the ledger and the processors differ.</summary>
    public const int Differs = 65;

    /// <summary>EX_UNAVAILABLE: the gateway or PostgreSQL does not answer, or not now.</summary>
    public const int Unavailable = 69;

    /// <summary>EX_SOFTWARE: a part failed, or an answer was none of the contract.</summary>
    public const int Failed = 70;

    /// <summary>EX_NOPERM: the token is missing or wrong, or its role is too low.</summary>
    public const int NotPermitted = 77;

    /// <summary>EX_CONFIG: a setting is wrong.</summary>
    public const int WrongSetting = 78;
}
