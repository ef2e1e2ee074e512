using System.Text.RegularExpressions;

namespace PaymentGateway.Tools.Containers;

/// <summary>The base images, under the names with which the files pin them.</summary>
public sealed partial class PinnedImages
{
    private readonly List<string> _names;

    /// <param name="files">The text of the Dockerfile and of the compose file.</param>
    public PinnedImages(params string[] files) => _names =
        files.SelectMany(file => Pinned().Matches(file)).Select(match => match.Groups[1].Value).ToList();

    public string Sdk => Of("sdk");

    public string Runtime => Of("runtime-deps");

    public string Nginx => Of("nginx");

    public string Postgres => Of("postgres");

    public IReadOnlyList<string> All => [Sdk, Runtime, Nginx, Postgres];

    public static PinnedImages Read() => new(
        File.ReadAllText(Repository.PathOf("Dockerfile")), File.ReadAllText(Repository.PathOf("docker-compose.yml")));

    private string Of(string image) =>
        _names.Find(name => name.Contains($"{image}:", StringComparison.Ordinal))
        ?? throw new ToolException($"no file pins an image {image}");

    [GeneratedRegex(
        @"^(?:ARG [A-Z]+_IMAGE=|    image: (?:\$\{[A-Z]+_IMAGE:-)?)([^ \n}]+:[^ \n}]+)\}?$", RegexOptions.Multiline)]
    private static partial Regex Pinned();
}
