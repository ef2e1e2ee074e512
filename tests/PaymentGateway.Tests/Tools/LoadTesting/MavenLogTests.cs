using PaymentGateway.Tools.LoadTesting;

namespace PaymentGateway.Tests.Tools.LoadTesting;

public sealed class MavenLogTests
{
    private const string NoNetwork =
        "[ERROR] Plugin io.gatling:gatling-maven-plugin:4.21.12 or one of its dependencies could not be resolved: "
        + "Failed to read artifact descriptor: Could not transfer artifact "
        + "io.gatling:gatling-maven-plugin:pom:4.21.12 from/to central "
        + "(https://repo.maven.apache.org/maven2): repo.maven.apache.org: Temporary failure in name resolution";

    private const string NoSuchVersion =
        "[ERROR] Failed to execute goal on project gatling: Could not resolve dependencies for project "
        + "paymentgateway:gatling:jar:1: Could not find artifact "
        + "io.gatling.highcharts:gatling-charts-highcharts:jar:99 in shared (file:///repository)";

    [Theory]
    [InlineData(NoNetwork)]
    [InlineData("[ERROR] Cannot access central (https://repo.maven.apache.org/maven2) in offline mode")]
    [InlineData("[ERROR] Could not transfer artifact a:b:pom:1 from/to central: status code: 503, reason phrase: busy")]
    public void Where_no_repository_answers_the_machine_is_to_blame(string log) =>
        Assert.Equal(MavenFailure.NoRepositoryReachable, MavenLog.ReasonIn(log));

    [Theory]
    [InlineData(NoSuchVersion)]
    [InlineData(NoNetwork + "\n" + NoSuchVersion)]
    [InlineData("[ERROR] Could not transfer artifact a:b:pom:1 from/to central: status code: 403, reason phrase: no")]
    [InlineData("[FATAL] Non-parseable POM gatling/pom.xml: end tag name </project> must match start tag name <build>")]
    [InlineData("[FATAL] Non-resolvable parent POM: Could not find artifact a:parent:pom:1 in central")]
    [InlineData("[ERROR] Unknown lifecycle phase \"test-compiled\".")]
    public void Where_a_repository_answers_or_the_pom_is_wrong_the_project_is_to_blame(string log) =>
        Assert.Equal(MavenFailure.Other, MavenLog.ReasonIn(log));

    [Fact]
    public void A_simulation_that_does_not_compile_is_a_failure_of_ours_whatever_else_Maven_prints() =>
        Assert.Equal(MavenFailure.DoesNotCompile, MavenLog.ReasonIn($"{NoNetwork}\n[ERROR] COMPILATION ERROR :"));

    [Theory]
    [InlineData("run:   10 s: 50 accepted", "  10 s: 50 accepted")]
    [InlineData("[INFO] run: something", null)]
    [InlineData(
        "Global: count of failed events is 0.0 : false (actual : 3.0)",
        "Global: count of failed events is 0.0 : false (actual : 3.0)")]
    [InlineData("Global: count of failed events is 0.0 : true (actual : 0.0)", null)]
    public void Progress_and_assertions_that_do_not_hold_are_shown(string line, string? shown) =>
        Assert.Equal(shown, MavenLog.ProgressIn(line));
}
