namespace PaymentGateway.Tests;

/// <summary>README.pt-BR.md has the headings, commands, figures and links of README.md.</summary>
public sealed class ReadmeTranslationTests
{
    private static readonly Regex Heading = new("^#+ ", RegexOptions.Multiline);
    private static readonly Regex Command = new(@"^    (?! )(.+?)\s*(?:(?<!\S)# .*)?$", RegexOptions.Multiline);
    private static readonly Regex Figure = new(@"\d[\d,.]*\d");
    private static readonly Regex Link = new(@"\]\(([^)#]+)");

    private static readonly string English = File.ReadAllText(Repository.PathOf("README.md"));
    private static readonly string Portuguese = File.ReadAllText(Repository.PathOf("README.pt-BR.md"));

    [Fact]
    public void Headings_are_of_the_same_number_and_depth() => Assert.Equal(
        Heading.Matches(English).Select(one => one.Value), Heading.Matches(Portuguese).Select(one => one.Value));

    [Fact]
    public void Commands_are_the_same_to_the_letter() => Assert.Equal(CommandsOf(English), CommandsOf(Portuguese));

    [Fact]
    public void Tables_have_the_same_figures()
    {
        var figures = FiguresOf(English);

        Assert.True(figures.Count > 10);
        Assert.Equal(figures, FiguresOf(Portuguese).ConvertAll(InEnglish));
    }

    [Fact]
    public void Pages_that_one_leads_to_are_those_of_the_other() =>
        Assert.Equal(LinksOf(English, "README.pt-BR.md"), LinksOf(Portuguese, "README.md"));

    private static List<string> CommandsOf(string page)
    {
        var commands = Command.Matches(page).Select(line => line.Groups[1].Value).ToList();
        Assert.True(commands.Count > 20);
        return commands;
    }

    // But for the first column, which has words.
    private static List<string> FiguresOf(string page) => page.Split('\n')
        .Where(line => line.StartsWith('|')).SelectMany(line => line.Split('|')[2..])
        .SelectMany(cell => Figure.Matches(cell)).Select(one => one.Value).ToList();

    // Portuguese writes 17.693 and 12,29 where English writes 17,693 and 12.29.
    private static string InEnglish(string figure) =>
        figure.Replace(',', ' ').Replace('.', ',').Replace(' ', '.');

    private static IEnumerable<string> LinksOf(string page, string other) =>
        Link.Matches(page).Select(one => one.Groups[1].Value).Where(link => link != other).Order().Distinct();
}
