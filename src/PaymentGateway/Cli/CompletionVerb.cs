using System.CommandLine;

namespace PaymentGateway.Cli;

/// <summary>`completion`: a script with which a shell completes verbs and options, by asking the binary.</summary>
internal static class CompletionVerb
{
    // [suggest:position] is System.CommandLine's own.
    private const string Bash = """
        _payment_gateway() {
            local IFS=$'\n'
            COMPREPLY=($("${COMP_WORDS[0]}" "[suggest:$COMP_POINT]" "$COMP_LINE" 2>/dev/null))
        }
        complete -F _payment_gateway PaymentGateway
        """;

    private const string Zsh = """
        #compdef PaymentGateway
        _payment_gateway() {
            local -a found
            found=("${(@f)$("${words[1]}" "[suggest:$CURSOR]" "$BUFFER" 2>/dev/null)}")
            compadd -a found
        }
        compdef _payment_gateway PaymentGateway
        """;

    private static readonly Argument<string> Shell = new("shell") { Description = "bash or zsh." };

    public static Command Create()
    {
        Shell.AcceptOnlyFromAmong("bash", "zsh");
        var completion = new Command(
            "completion", "Print a script that completes verbs and options: source <(PaymentGateway completion bash)")
        {
            Shell,
        };
        completion.SetAction(static parsed =>
        {
            parsed.InvocationConfiguration.Output.WriteLine(parsed.GetValue(Shell) == "bash" ? Bash : Zsh);
            return ExitCodes.Ok;
        });
        return completion;
    }
}
