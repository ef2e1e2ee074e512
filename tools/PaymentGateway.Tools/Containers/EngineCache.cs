namespace PaymentGateway.Tools.Containers;

/// <summary>
/// The packages of an engine of our own and the tree of its substitute images: fetched once, kept for later runs.
/// Debian 12's own engine and Compose are too old for the compose files; those of Debian 13 run on it (glibc 2.34).
/// </summary>
internal sealed class EngineCache(string scratch)
{
    private static readonly string[] Packages = ["docker.io", "docker-cli", "docker-compose", "containerd"];

    private static readonly string Root = Path.Combine(
        Environment.GetEnvironmentVariable("XDG_CACHE_HOME") is { Length: > 0 } given
            ? given
            : Path.Combine(Environment.GetFolderPath(Environment.SpecialFolder.UserProfile), ".cache"),
        "payment-gateway");

    /// <summary>The engine's packages, unpacked.</summary>
    public string Engine { get; } = Path.Combine(Root, "engine");

    /// <summary>A small Debian with what the substitute images hold.</summary>
    public string Tree { get; } = Path.Combine(Root, "tree");

    /// <summary>Makes what is not there yet; several runs at once wait for one of them.</summary>
    public async Task FillAsync(CancellationToken cancellation)
    {
        Directory.CreateDirectory(Root);
        using var held = await FileLock.TakeAsync(Path.Combine(Root, "lock"), cancellation);
        await InstallToolsAsync(cancellation);
        await FetchAsync(cancellation);
        await new SubstituteTree(Tree, scratch).MakeAsync(await MirrorAsync(cancellation), cancellation);
    }

    // Programs that leave nothing running: what starts containers, what publishes their ports, what makes the tree.
    private static async Task InstallToolsAsync(CancellationToken cancellation)
    {
        (string Program, string Package)[] tools =
            [("runc", "runc"), ("iptables", "iptables"), ("debootstrap", "debootstrap"), ("ip", "iproute2")];
        var lacking = tools.Where(tool => !Programs.Has(tool.Program)).Select(tool => tool.Package).ToList();
        if (lacking.Count > 0)
            await SetUpAsync([.. lacking], cancellation);
    }

    /// <summary>Installs packages on this machine.</summary>
    public static async Task SetUpAsync(string[] packages, CancellationToken cancellation)
    {
        if (await Shell.ShowAsync([Repository.PathOf("eng", "setup"), .. packages], cancellation: cancellation) != 0)
            throw new ToolException($"compose-test cannot run: it lacks {string.Join(' ', packages)}");
    }

    private static async Task<string> MirrorAsync(CancellationToken cancellation)
    {
        var sites = await Shell.ReadAsync(
            ["apt-get", "indextargets", "--format", "$(SITE)"], cancellation: cancellation);
        return sites.Split('\n').Where(site => site.Contains("debian", StringComparison.Ordinal)
                && !site.Contains("security", StringComparison.Ordinal))
            .Order(StringComparer.Ordinal).FirstOrDefault()
            ?? throw new ToolException("compose-test cannot run: apt-get knows no mirror of Debian");
    }

    private async Task FetchAsync(CancellationToken cancellation)
    {
        var complete = Path.Combine(Engine, ".complete");
        if (File.Exists(complete))
            return;

        var apt = Path.Combine(Root, "apt");
        await Shell.ReadAsync(["rm", "-rf", Engine, apt], cancellation: cancellation);
        Directory.CreateDirectory(Engine);
        foreach (var folder in new[] { "state/lists/partial", "cache/archives/partial", "debs" })
            Directory.CreateDirectory($"{apt}/{folder}");
        await File.WriteAllTextAsync(
            $"{apt}/trixie.list",
            "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
            + $"{await MirrorAsync(cancellation)} trixie main\n",
            cancellation);
        string[] command =
        [
            "apt-get", "-qq", "-o", $"Dir::State={apt}/state", "-o", $"Dir::Cache={apt}/cache",
            "-o", $"Dir::Etc::sourcelist={apt}/trixie.list", "-o", "Dir::Etc::sourceparts=-",
            "-o", "Dir::State::status=/dev/null", "-o", "APT::Sandbox::User=root",
        ];
        await Shell.ReadAsync([.. command, "update"], cancellation: cancellation);
        await Shell.ReadAsync([.. command, "download", .. Packages], $"{apt}/debs", cancellation);
        foreach (var package in Directory.GetFiles($"{apt}/debs", "*.deb"))
            await Shell.ReadAsync(["dpkg", "-x", package, Engine], cancellation: cancellation);
        Directory.Delete(apt, recursive: true);
        await File.WriteAllTextAsync(complete, "", cancellation);
    }
}
