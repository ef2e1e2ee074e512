using CliWrap;
using CliWrap.Buffered;

namespace PaymentGateway.Tools.Containers;

/// <summary>
/// Images under the pinned names for where no registry can be reached, from one tree of Debian 12 packages. What they
/// are like and where they differ from the real ones is in docs/containers.md.
/// </summary>
internal sealed class Substitutes(Docker docker, PinnedImages images, string tree, string scratch)
{
    private const string Base = "substitute:tree";

    /// <summary>A file of the container's side.</summary>
    public static string PathOf(string file) =>
        Repository.PathOf("tools", "PaymentGateway.Tools", "Containers", "Substitutes", file);

    public async Task MakeAsync()
    {
        await ImportAsync(Base, Tar("-C", tree, "-c", "."));
        await MakeSdkAsync();
        await MakeRuntimeAsync();
        await DeriveAsync(images.Nginx, Tar("-c", "-T", "/dev/null"), "CMD [\"nginx\", \"-g\", \"daemon off;\"]");
        await DeriveAsync(
            images.Postgres,
            Tar("-C", PathOf(""), "--owner=0", "--group=0", "--mode=755", "--transform=s,^,usr/local/bin/,", "-c",
                "postgres-entrypoint"),
            "ENTRYPOINT [\"postgres-entrypoint\"]", "CMD [\"postgres\"]",
            "ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin PGDATA=/var/lib/postgresql/data",
            "STOPSIGNAL SIGINT", "VOLUME /var/lib/postgresql/data");
    }

    // With this machine's SDK and the packages that a restore wants, so that it needs no network.
    private async Task MakeSdkAsync()
    {
        var program = Programs.Find("dotnet") ?? throw new ToolException("the .NET SDK is missing");
        var sdk = Path.GetDirectoryName(File.ResolveLinkTarget(program, returnFinalTarget: true)?.FullName ?? program)!;
        var home = Environment.GetFolderPath(Environment.SpecialFolder.UserProfile);
        foreach (var project in new[] { "PaymentGateway", "ProcessorSimulator" })
        {
            var restored = await Shell.RunAsync(
                ["dotnet", "restore", Repository.PathOf("src", project), "-r", "linux-x64",
                    "--packages", $"{scratch}/packages", $"-p:ArtifactsPath={scratch}/artifacts/",
                    $"-p:RestoreAdditionalProjectSources={home}/.nuget/packages"],
                cancellation: docker.Cancellation);
            if (restored.Succeeded)
                continue;
            await Console.Error.WriteLineAsync(restored.Output);
            throw new ToolException("the packages could not be restored");
        }

        await FetchNpmPackagesAsync();
        await DeriveAsync(
            images.Sdk,
            Tar($"--transform=s,^{sdk[1..]},usr/share/dotnet,", "-c", "-C", "/", sdk[1..], "-C", scratch, "packages",
                "npm-cache"),
            "ENV PATH=/usr/share/dotnet:/usr/bin:/bin NUGET_PACKAGES=/packages DOTNET_NOLOGO=1",
            "ENV NPM_CONFIG_CACHE=/npm-cache NPM_CONFIG_OFFLINE=true DOTNET_CLI_TELEMETRY_OPTOUT=1");
    }

    // Into a cache, from which an `npm ci` then takes them.
    private async Task FetchNpmPackagesAsync()
    {
        var folder = Directory.CreateDirectory(Path.Combine(scratch, "npm")).FullName;
        foreach (var file in new[] { "package.json", "package-lock.json" })
            File.Copy(
                Repository.PathOf("src", "PaymentGateway", file), Path.Combine(folder, file), overwrite: true);
        var fetched = await Shell.RunAsync(
            ["npm", "ci", "--prefix", folder, "--cache", Path.Combine(scratch, "npm-cache"), "--ignore-scripts",
                "--no-audit", "--no-fund"],
            cancellation: docker.Cancellation);
        if (!fetched.Succeeded)
            throw new ToolException($"the npm packages could not be fetched: {fetched.Errors.Trim()}");
    }

    // The packages of Microsoft's chiselled image: no zlib, no shell.
    private async Task MakeRuntimeAsync()
    {
        var files = (await InTreeAsync("dpkg", "-L", "libc6", "libgcc-s1", "libssl3", "libstdc++6"))
            .Where(file => file.Contains(".so", StringComparison.Ordinal)
                && !file.Contains("gconv", StringComparison.Ordinal) && File.Exists(tree + file))
            .Distinct().ToList();
        // As they lie in the merged /usr: a path through a link would not be found in the image.
        var folders = await InTreeAsync(["readlink", "-m", .. files.Select(file => Path.GetDirectoryName(file)!)]);
        string[] others =
            ["lib", "lib64", "bin", "sbin", "tmp", "etc/ssl/certs/ca-certificates.crt", "usr/lib64"];
        var list = files.Zip(folders, (file, folder) => $".{folder}/{Path.GetFileName(file)}")
            .Concat(others.Select(other => $"./{other}")).Distinct().Order(StringComparer.Ordinal);
        var listed = Path.Combine(scratch, "runtime.list");
        await File.WriteAllLinesAsync(listed, list, docker.Cancellation);
        await ImportAsync(
            images.Runtime, Tar("-C", tree, "--no-recursion", "-c", "-T", listed), "ENV ASPNETCORE_HTTP_PORTS=8080");
    }

    private async Task<string[]> InTreeAsync(params string[] command)
    {
        var result = await Shell.RunAsync(
            [Programs.Find("chroot")!, tree, .. command], cancellation: docker.Cancellation);
        return result.Succeeded
            ? result.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries)
            : throw new ToolException($"the tree failed: {result.Errors.Trim()}");
    }

    private static Command Tar(params string[] arguments) => Cli.Wrap("tar").WithArguments(arguments);

    private static IEnumerable<string> Changes(string[] changes) =>
        changes.SelectMany(change => new[] { "-c", change });

    private Task ImportAsync(string name, Command tar, params string[] changes) =>
        FeedAsync(tar, ["import", .. Changes(changes), "-", name]);

    // An image that is what the tree is, and what the tar file holds.
    private async Task DeriveAsync(string name, Command tar, params string[] changes)
    {
        var container = await docker.ReadAsync("create", Base, "true");
        await FeedAsync(tar, "cp", "-", $"{container}:/");
        await docker.ReadAsync(["commit", .. Changes(changes), container, name]);
        await docker.ReadAsync("rm", container);
    }
    private async Task FeedAsync(Command tar, params string[] arguments)
    {
        // Buffered: a client whose output nobody reads is ended by it.
        var fed = await (tar | docker.Command(arguments).WithValidation(CommandResultValidation.None))
            .ExecuteBufferedAsync(docker.Cancellation);
        if (!fed.IsSuccess)
            throw new ToolException($"docker {arguments[0]} failed: {fed.StandardError.Trim()}");
    }
}
