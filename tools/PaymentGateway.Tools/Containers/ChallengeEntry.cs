using System.CommandLine;

namespace PaymentGateway.Tools.Containers;

/// <summary>The folder that the challenge's organisers take: docker-compose.yml without build, and its files.</summary>
public static class ChallengeEntry
{
    private const string ComposeFile = "docker-compose.yml";

    private static readonly Regex Comment = new(@"^ *#.*\n", RegexOptions.Multiline);
    // The key, and the lines below it that are indented more.
    private static readonly Regex Build = new(@"^( *)build:\n(\1 +.*\n)+", RegexOptions.Multiline);
    private static readonly Regex Variable = new(@"\$\{(\w+):-([^}]+)\}");
    private static readonly Regex Mounted = new(@"^ *source: \./(.+)$", RegexOptions.Multiline);

    private static string Folder => Repository.PathOf("artifacts", "rinha-entry");

    public static Command Create()
    {
        var verb = new Command("rinha-entry", "Writes the challenge's entry, as its organisers take it.");
        verb.SetAction((_, _) =>
        {
            Write(SystemSettings.FromEnvironment(), Folder);
            Console.WriteLine($"{Folder}: copy it to participantes/ of the challenge's repository");
            return Task.FromResult(0);
        });
        return verb;
    }

    /// <summary>Writes the entry anew and returns its compose file.</summary>
    /// <exception cref="ToolException">GATEWAY_IMAGE or SOURCE is missing.</exception>
    public static string Write(SystemSettings settings, string folder)
    {
        Require("GATEWAY_IMAGE", "the gateway's image in a public registry");
        var source = Require("SOURCE", "the URL of the repository with the source");
        var file = File.ReadAllText(Repository.PathOf(ComposeFile));
        var compose = Variable.Replace(
            Build.Replace(Comment.Replace(file, ""), ""),
            variable => settings[variable.Groups[1].Value] ?? variable.Groups[2].Value);

        if (Directory.Exists(folder))
            Directory.Delete(folder, recursive: true);
        foreach (var mounted in Mounted.Matches(compose).Select(match => match.Groups[1].Value))
            WriteFile(mounted, File.ReadAllText(Repository.PathOf(mounted)));
        WriteFile("info.json", $$"""
            {
              "name": {{JsonSerializer.Serialize(settings["NAME"] ?? "PaymentGateway")}},
              "social": [],
              "source-code-repo": {{JsonSerializer.Serialize(source)}},
              "langs": ["c#"],
              "storages": ["postgresql"],
              "messaging": [],
              "load-balancers": ["nginx"],
              "other-technologies": [".net native aot"]
            }

            """);
        WriteFile("README.md", $"""
            # PaymentGateway
            Gateway de pagamentos em C# (.NET, Native AOT) com PostgreSQL e nginx. Duas instâncias gravam cada
            pagamento antes de responder e o enviam ao processador mais barato que funciona.

            - Código-fonte: {source}
            - Linguagem: C#; armazenamento: PostgreSQL; balanceador: nginx, por sockets Unix

            """);
        return WriteFile(ComposeFile, compose);

        string Require(string name, string what) =>
            settings[name] ?? throw new ToolException($"rinha-entry: which is {what}? {name}=…");

        string WriteFile(string name, string text)
        {
            var path = Path.Combine(folder, name);
            Directory.CreateDirectory(Path.GetDirectoryName(path)!);
            File.WriteAllText(path, text);
            return path;
        }
    }
}
