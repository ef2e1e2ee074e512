using PaymentGateway.Cli;

namespace PaymentGateway.Tests.Compose;

/// <summary>The Dockerfile's rules, over its parsed text: no linter for it restores where we build.</summary>
public sealed partial class DockerfileTests
{
    private const int ImageMegabytesMax = 47;

    // What the base image is, by its packages (libc, OpenSSL, libstdc++, certificates), with some air.
    private const int BaseMegabytes = 13;

    private static readonly DockerfileText Dockerfile = DockerfileText.OfRepository;

    private static readonly string[] Programs = ["gateway", "simulator"];

    // Of its packages libc6, libgcc-s1, libssl3t64 and libstdc++6; it has no zlib.
    internal static readonly string[] BaseLibraries =
    [
        "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1",
        "libgcc_s.so.1", "libssl.so.3", "libcrypto.so.3", "libstdc++.so.6",
    ];

    [Fact]
    public void Images_are_pinned_by_tag_and_of_one_Ubuntu()
    {
        var images = Dockerfile.Stages.Select(stage => stage.From)
            .Where(from => Dockerfile.Stages.All(stage => stage.Name != from))
            .Select(from => Dockerfile.Defaults[Argument().Match(from).Groups[1].Value]).ToList();

        Assert.Equal(2, images.Count);
        Assert.All(images, image => Assert.Matches(PinnedOnNoble(), image));
        Assert.EndsWith("-aot", images[0], StringComparison.Ordinal);
        Assert.EndsWith("-chiseled", images[1], StringComparison.Ordinal);
        Assert.Equal("gateway", Dockerfile.Stages[^1].Name);
    }

    [Fact]
    public void The_restore_layer_depends_on_no_source_file()
    {
        var build = Dockerfile["build"].Instructions;
        var restore = build.FindIndex(one => one.Name == "RUN" && one.Text.Contains("dotnet restore"));
        var before = build.Take(restore).Where(one => one.Name == "COPY").SelectMany(one => Sources(one.Text)).ToList();

        Assert.NotEmpty(before);
        Assert.All(before, source => Assert.True(File.Exists(Repository.PathOf(source)), source));
        foreach (var project in new[] { "PaymentGateway", "ProcessorSimulator" })
        {
            Assert.Contains($"src/{project}/{project}.csproj", before);
            Assert.Contains($"dotnet restore src/{project} -r linux-x64", build[restore].Text);
        }

        foreach (var shared in new[] { "global.json", "Directory.Build.props", "Directory.Packages.props" })
            Assert.Contains(shared, before);
    }

    [Fact]
    public void The_images_are_published_by_the_script_that_fails_on_IL_warnings()
    {
        Assert.Equal("eng/publish --no-restore", Dockerfile["build"].All("RUN").Last());
        // Before the restore; a name alone leaves the default to Directory.Build.props.
        Assert.Equal(("ARG", "FRAMEWORK"), Dockerfile["build"].Instructions[0]);
        Assert.Equal(["FRAMEWORK"], Dockerfile["base"].All("ARG"));
        Assert.Contains("((warnings == 0))", File.ReadAllText(Repository.PathOf("eng", "publish")));
    }

    [Fact]
    public void Everything_that_is_copied_exists_and_is_not_ignored_and_nothing_else_is_sent()
    {
        var copied = Dockerfile["build"].All("COPY").SelectMany(Sources).Select(source => source.TrimEnd('/')).ToList();
        var ignore = File.ReadAllLines(Repository.PathOf(".dockerignore"))
            .Where(line => line.Length > 0 && !line.StartsWith('#')).ToList();
        var allowed = ignore.Where(line => line.StartsWith('!')).Select(line => line[1..]).ToList();

        Assert.Equal("*", ignore[0]);
        Assert.All(copied, source => Assert.True(Path.Exists(Repository.PathOf(source)), source));
        Assert.All(copied, source => Assert.Contains(allowed, one => source == one || source.StartsWith(one + "/")));
        Assert.All(allowed, one => Assert.Contains(one, copied));
        Assert.Contains("**/bin", ignore);
        Assert.Contains("**/obj", ignore);
    }

    [Fact]
    public void A_final_image_holds_one_binary_runs_as_a_number_and_has_no_shell_to_call()
    {
        foreach (var (stage, program) in new[] { ("gateway", "PaymentGateway"), ("simulator", "ProcessorSimulator") })
        {
            var final = Dockerfile[stage];
            Assert.Equal(
                "--from=build /source/artifacts/${FRAMEWORK:+$FRAMEWORK/}publish/"
                    + $"{program}/release_linux-x64/{program} ./",
                Assert.Single(final.All("COPY")));
            Assert.Equal("base", final.From);
            Assert.Empty(final.All("RUN"));
            Assert.Empty(final.All("ADD"));
            Assert.Matches("^[1-9][0-9]*:[1-9][0-9]*$", Dockerfile.Last(stage, "USER"));
            // The exec form: a shell that it would need is not there.
            Assert.Equal($"[\"/app/{program}\"]", Assert.Single(final.All("ENTRYPOINT")));
            Assert.Equal("/app", Dockerfile.Last(stage, "WORKDIR"));
        }

        // The SDK's and the project's names for where eng/publish leaves them.
        var publish = File.ReadAllText(Repository.PathOf("eng", "publish"));
        Assert.Contains("output=$artifacts/publish/$project/release_linux-x64", publish, StringComparison.Ordinal);
        Assert.Contains("\nartifacts=$root/artifacts${FRAMEWORK:+/$FRAMEWORK} ", publish, StringComparison.Ordinal);
    }

    [Fact]
    public void The_gateway_is_asked_for_its_health_by_its_own_verb()
    {
        var check = Dockerfile["gateway"].All("HEALTHCHECK").Single();

        Assert.EndsWith($"CMD [\"/app/PaymentGateway\", \"{HealthcheckVerb.Name}\"]", check, StringComparison.Ordinal);
        Assert.Contains("--timeout=3s", check, StringComparison.Ordinal);
    }

    [GatewaySystemFact]
    public void The_images_stay_under_47_MB_with_their_base()
    {
        foreach (var binary in new[] { GatewaySystemParts.Gateway, GatewaySystemParts.Simulator })
        {
            var megabytes = new FileInfo(binary).Length / 1e6 + BaseMegabytes;
            Assert.True(megabytes < ImageMegabytesMax, binary);
        }

        Assert.Equal(Programs.Length, Dockerfile.Stages.Count(stage => stage.From == "base"));
    }

    [GatewaySystemFact]
    public async Task A_binary_needs_only_libraries_that_the_base_holds_or_the_Dockerfile_copies()
    {
        var copied = Dockerfile["base"].All("COPY").SelectMany(Sources).Select(Path.GetFileName).ToList();
        foreach (var binary in new[] { GatewaySystemParts.Gateway, GatewaySystemParts.Simulator })
        {
            var run = await ProgramRun.RunAsync(["readelf", "-d", binary]);
            var needed = Needed().Matches(run.Output).Select(match => match.Groups[1].Value).ToList();

            Assert.Contains("libc.so.6", needed);
            Assert.Empty(needed.Except(BaseLibraries).Except(copied));
        }
    }

    private static IEnumerable<string> Sources(string copy) =>
        copy.Split(' ').SkipLast(1).Where(part => !part.StartsWith("--", StringComparison.Ordinal));

    [GeneratedRegex(@"^mcr\.microsoft\.com/dotnet/[a-z-]+:[0-9]+\.[0-9]+\.[0-9]+-noble-[a-z]+$")]
    private static partial Regex PinnedOnNoble();

    [GeneratedRegex(@"^\$\{([A-Z_]+)\}$")]
    private static partial Regex Argument();

    [GeneratedRegex(@"\(NEEDED\).*\[(.+)\]")]
    private static partial Regex Needed();
}
