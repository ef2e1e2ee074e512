using System.CommandLine;

namespace PaymentGateway.Tests.Cli;

public sealed class CommandLineTests
{
    private static readonly Regex Section = new(
        @"^### `(?<verb>[a-z -]+)`\n(?<text>.*?)(?=^##|\z)", RegexOptions.Multiline | RegexOptions.Singleline);
    private static readonly Regex Common = new(
        @"^## Asking a gateway\n(?<table>.*?)(?<verbs>^### .*?)(?=^## |\z)",
        RegexOptions.Multiline | RegexOptions.Singleline);
    private static readonly Regex Row = new(@"^\| `(?<name>[\w-]+)", RegexOptions.Multiline);
    private static readonly Regex ExitCode = new(@"^\| (\d+) \|", RegexOptions.Multiline);

    private static readonly string Page = File.ReadAllText(Repository.PathOf("docs", "cli.md"));

    [Theory]
    [InlineData("", "")]
    [InlineData("run", "")]
    [InlineData("run --urls http://x", "--urls http://x")]
    [InlineData("run Gateway:Admin:Token=x", "Gateway:Admin:Token=x")]
    [InlineData("--Gateway:Storage:Profile=Durable", "--Gateway:Storage:Profile=Durable")]
    [InlineData("--urls=http://unix:/x --Gateway:Admin:Token=x", "--urls=http://unix:/x --Gateway:Admin:Token=x")]
    [InlineData("--ConnectionStrings:Ledger Host=x", "--ConnectionStrings:Ledger Host=x")]
    [InlineData("run --help", null)]
    [InlineData("--help", null)]
    [InlineData("--version", null)]
    [InlineData("--url=http://x status", null)]
    [InlineData("status", null)]
    [InlineData("rnu", null)]
    [InlineData("[suggest:3] st", null)]
    public void A_start_is_no_verb_or_run_with_settings(string arguments, string? settings) => Assert.Equal(
        settings?.Split(' ', StringSplitOptions.RemoveEmptyEntries),
        PaymentGateway.Cli.CommandLine.SettingsOfRun(
            arguments.Split(' ', StringSplitOptions.RemoveEmptyEntries)));

    [Theory]
    [InlineData("rnu", "rnu")]
    [InlineData("--jsno", "--jsno")]
    [InlineData("status --jsno", "--jsno")]
    [InlineData("status more", "more")]
    [InlineData("payments", "")]
    [InlineData("payments show", "show")]
    [InlineData("payments show nonsense", "'nonsense' is not a correlationId")]
    [InlineData("parked replay nonsense", "'nonsense' is not a correlationId")]
    [InlineData("status more --jsno", "--jsno")]
    [InlineData("payments list --limit 0", "--limit")]
    [InlineData("payments list --limit ten", "--limit must be")]
    [InlineData("payments list --limit 100001", "100000")]
    [InlineData("parked replay", "an id, or --all")]
    [InlineData("parked replay --all 4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3", "an id, or --all")]
    [InlineData("parked replay 4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3 --reason x", "--reason goes with --all")]
    [InlineData("parked replay --all --limit 5", "'5'")]
    [InlineData("completion fish", "fish")]
    [InlineData("conformance", "--url")]
    [InlineData("conformance --url file:///x", "--url")]
    [InlineData("purge", "--yes")]
    [InlineData("purge --yes false", "false")]
    public async Task Wrong_usage_ends_with_64_and_says_what_is_wrong(string arguments, string why)
    {
        var run = await Verb.RunAsync(arguments.Split(' '));

        run.AssertFailed(64, why);
        Assert.DoesNotContain("System.", run.Error, StringComparison.Ordinal);
    }

    [Fact]
    public void The_page_has_every_verb_with_its_options_and_arguments_and_no_other()
    {
        var common = Common.Match(Page);
        var asking = common.Groups["verbs"];
        var told = Section.Matches(Page).ToDictionary(
            match => match.Groups["verb"].Value,
            match => RowsOf(match.Groups["text"])
                .Union(match.Index >= asking.Index && match.Index < asking.Index + asking.Length
                    ? RowsOf(common.Groups["table"])
                    : [])
                .Order());

        Assert.Equal(
            Verbs().Select(verb => $"{verb.Name}: {string.Join(' ', Parameters(verb.Command))}").Order(),
            told.Select(verb => $"{verb.Key}: {string.Join(' ', verb.Value)}").Order());
    }

    [Fact]
    public void The_page_has_every_exit_code_and_no_other()
    {
        var codes = typeof(PaymentGateway.Cli.ExitCodes).GetFields()
            .Select(field => (int)field.GetRawConstantValue()!).Order();

        Assert.Equal(codes, ExitCode.Matches(Page).Select(match => int.Parse(match.Groups[1].Value)).Order());
    }

    private static IEnumerable<string> RowsOf(Group text) =>
        Row.Matches(text.Value).Select(row => row.Groups["name"].Value);

    private static IEnumerable<string> Parameters(Command verb) =>
        verb.Options.Select(option => option.Name).Concat(verb.Arguments.Select(argument => argument.Name)).Order();

    private static IEnumerable<(string Name, Command Command)> Verbs() =>
        PaymentGateway.Cli.CommandLine.Create().Subcommands.SelectMany(verb => verb.Subcommands.Count == 0
            ? [(verb.Name, verb)]
            : verb.Subcommands.Select(inner => ($"{verb.Name} {inner.Name}", inner)));
}
