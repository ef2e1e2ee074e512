namespace PaymentGateway.Tests.Compose;

/// <summary>The Dockerfile's rules that a build of the images (`make compose-test`) does not show.</summary>
public sealed class DockerfileTests
{
    private static readonly Regex Image = new(@"^ARG [A-Z]+_IMAGE=(\S+)$", RegexOptions.Multiline);
    private static readonly Regex PinnedOnNoble = new(
        @"^mcr\.microsoft\.com/dotnet/[a-z-]+:[0-9]+\.[0-9]+\.[0-9]+-noble-[a-z]+$");
    private static readonly Regex Needed = new(@"\(NEEDED\).*\[(.+)\]");

    private const int ImageMegabytesMax = 48;

    // The base image by its packages (libc, OpenSSL, libstdc++, certificates), with some air.
    private const int BaseMegabytes = 13;

    private static readonly string Dockerfile = File.ReadAllText(Repository.PathOf("Dockerfile"));

    // Libraries of libc6, libgcc-s1, libssl3t64 and libstdc++6; the base has no zlib.
    internal static readonly string[] BaseLibraries =
    [
        "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1",
        "libgcc_s.so.1", "libssl.so.3", "libcrypto.so.3", "libstdc++.so.6",
    ];

    [Fact]
    public void Images_are_pinned_by_tag_and_of_one_Ubuntu()
    {
        var images = Image.Matches(Dockerfile).Select(image => image.Groups[1].Value).ToList();

        Assert.Equal(2, images.Count);
        Assert.All(images, image => Assert.Matches(PinnedOnNoble, image));
        Assert.EndsWith("-aot", images[0], StringComparison.Ordinal);
        Assert.EndsWith("-chiseled", images[1], StringComparison.Ordinal);
    }

    [Fact]
    public void The_restore_layer_depends_on_no_source_file_and_the_build_fails_on_IL_warnings()
    {
        var beforeRestore = Dockerfile.Split("\nRUN dotnet restore")[0];

        Assert.Equal(2, Dockerfile.Split("\nRUN dotnet restore").Length);
        Assert.DoesNotContain("\nCOPY src/ ", beforeRestore, StringComparison.Ordinal);
        Assert.Contains("\nRUN eng/publish --no-restore\n", Dockerfile, StringComparison.Ordinal);
        Assert.Contains(
            "((warnings == 0))", File.ReadAllText(Repository.PathOf("eng", "publish")), StringComparison.Ordinal);
    }

    // The release's images are built by the same script as those of a test, which may have no list of vulnerabilities.
    [Fact]
    public void A_release_restores_no_package_with_a_known_vulnerability_into_its_images()
    {
        var restored = Dockerfile.Split("\nARG NUGET_AUDIT=false\n")[1].Split("\nCOPY ")[0];

        Assert.Equal(
            2, Regex.Count(restored, @"dotnet restore src/[A-Za-z]+ -r \$RID -p:NuGetAudit=\$NUGET_AUDIT "));
        Assert.Equal(2, Regex.Count(Dockerfile, "dotnet restore"));
        Assert.Contains(
            "\n      NUGET_AUDIT: \"true\"\n",
            File.ReadAllText(Repository.PathOf(".github", "workflows", "release.yml")), StringComparison.Ordinal);
        Assert.Contains(
            "--build-arg NUGET_AUDIT", File.ReadAllText(Repository.PathOf("tests", "containers", "run")),
            StringComparison.Ordinal);
    }

    [Fact]
    public void Only_named_files_are_sent_to_the_build()
    {
        var ignore = File.ReadAllLines(Repository.PathOf(".dockerignore")).Where(line => !line.StartsWith('#'));

        Assert.Equal("*", ignore.First());
        Assert.Superset(new HashSet<string> { "**/bin", "**/obj" }, ignore.ToHashSet());
    }

    [Fact]
    public void A_final_image_holds_one_binary_and_runs_as_a_number()
    {
        var ofBase = Dockerfile.Split(" AS base\n")[1];

        Assert.DoesNotContain("\nRUN ", ofBase, StringComparison.Ordinal);
        Assert.DoesNotContain("\nADD ", ofBase, StringComparison.Ordinal);
        Assert.Matches(@"\nUSER [1-9][0-9]*:[1-9][0-9]*\n", ofBase.Split("\nFROM ")[0]);
        foreach (var stage in ofBase.Split("\nFROM ")[1..])
        {
            Assert.StartsWith("base AS ", stage, StringComparison.Ordinal);
            Assert.Equal(2, stage.Split("\nCOPY ").Length);
            Assert.DoesNotContain("\nUSER ", stage, StringComparison.Ordinal);
        }
    }

    [GatewaySystemFact]
    public void The_images_stay_under_48_MB_with_their_base() => Assert.All(
        new[] { GatewaySystemParts.Gateway, GatewaySystemParts.Simulator },
        binary => Assert.InRange(new FileInfo(binary).Length / 1e6 + BaseMegabytes, 0, ImageMegabytesMax));

    [GatewaySystemFact]
    public async Task A_binary_needs_only_libraries_that_the_base_holds_or_the_Dockerfile_copies()
    {
        foreach (var binary in new[] { GatewaySystemParts.Gateway, GatewaySystemParts.Simulator })
        {
            var run = await ProgramRun.RunAsync(["readelf", "-d", binary]);
            var needed = Needed.Matches(run.Output).Select(match => match.Groups[1].Value).ToList();

            Assert.Contains("libc.so.6", needed);
            Assert.All(needed.Except(BaseLibraries), library => Assert.Contains(
                $"COPY --from=build /source/{library} ", Dockerfile, StringComparison.Ordinal));
        }
    }
}
