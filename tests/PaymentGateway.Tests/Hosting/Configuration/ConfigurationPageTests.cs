namespace PaymentGateway.Tests.Hosting.Configuration;

public sealed class ConfigurationPageTests
{
    private static readonly Regex Setting = new(
        """settings\.\w+(<\w+>)?\(\s*\$?"(?<name>(ConnectionStrings|Gateway|\{(own|key|hook)\}):[\w:]+)"\s*[,)]""");
    private static readonly Regex Row = new("""
        ^\| `(?<name>(ConnectionStrings|Gateway)__[\w<>]+)` \|
        """, RegexOptions.Multiline);
    private static readonly Regex Limits = new(
        """\.(Duration|Count)\(\s*"(?<name>[\w:]+)",\s*(?<default>[^,]+),\s*(?<least>[^,]+),\s*(?<most>[^,)]+)\)""");

    private readonly string _page = File.ReadAllText(Repository.PathOf("docs", "configuration.md"));

    [Fact]
    public void Every_setting_has_its_row_and_there_is_no_other()
    {
        var read = Directory.EnumerateFiles(
                Repository.PathOf("src", "PaymentGateway"), "*.cs", SearchOption.AllDirectories)
            .SelectMany(file => Setting.Matches(File.ReadAllText(file)))
            .Select(match => match.Groups["name"].Value.Replace("{own}", "Gateway:Processors:<name>")
                .Replace("{key}", "Gateway:Admin:Tokens:<name>")
                .Replace("{hook}", "Gateway:Webhooks:<name>")
                .Replace(":", "__", StringComparison.Ordinal));

        var told = Row.Matches(_page).Select(match => match.Groups["name"].Value);

        Assert.Equal(read.Distinct().Order(), told.Order());
    }

    [Fact]
    public void Defaults_and_ranges_are_those_of_the_code()
    {
        var options = string.Concat(Directory.EnumerateFiles(
            Repository.PathOf("src", "PaymentGateway"), "*Options.cs", SearchOption.AllDirectories)
            .Select(File.ReadAllText));
        var limits = Limits.Matches(options).ToList();

        Assert.True(limits.Count > 20);
        Assert.All(limits, match =>
        {
            var name = match.Groups["name"].Value.Replace(":", "__", StringComparison.Ordinal);
            var cells = _page.Split('\n').Single(line => line.StartsWith($"| `{name}` |", StringComparison.Ordinal))
                .Split('|').Select(cell => cell.Trim(' ', '`')).ToList();
            Assert.Equal(Plain(match.Groups["default"].Value), Plain(cells[2]));
            Assert.Equal(
                $"{Plain(match.Groups["least"].Value)} to {Plain(match.Groups["most"].Value)}", Plain(cells[3]));
        });
    }

    private static string Plain(string number) => number.Replace("_", "", StringComparison.Ordinal)
        .Replace(",", "", StringComparison.Ordinal).Trim('"');
}
