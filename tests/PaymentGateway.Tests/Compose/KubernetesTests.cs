using k8s;
using YamlDotNet.Core;
using static PaymentGateway.Tests.Support.Manifests;

namespace PaymentGateway.Tests.Compose;

/// <summary>The manifests of ops/kubernetes: the API has their fields, and they fit. PodTests run them.</summary>
public sealed class KubernetesTests
{
    // Of a resource of the Prometheus operator the client for Kubernetes knows nothing.
    private const string OfTheOperator = "metrics.yaml";

    private const int LinesMax = 200;

    public static TheoryData<string> OfKubernetes { get; } = new(Files.Where(file => file != OfTheOperator));

    private static readonly string[] Kinds = [Pods.Instance, Pods.Migration];

    public static TheoryData<string> Workloads { get; } = new(Kinds);

    [Theory]
    [MemberData(nameof(OfKubernetes))]
    public void A_manifest_has_only_fields_that_the_API_has_and_a_misspelt_one_is_found(string file)
    {
        var text = File.ReadAllText(Path.Combine(Folder, file));
        var misspelt = text.Replace("name:", "nmae:", StringComparison.Ordinal);

        var read = KubernetesYaml.LoadAllFromString(text, strict: true);

        Assert.Equal(text.Split("\n---\n").Length, read.Count);
        Assert.Throws<YamlException>(() => KubernetesYaml.LoadAllFromString(misspelt, strict: true));
    }

    [Fact]
    public void The_kustomization_names_every_file_and_there_are_few_lines()
    {
        var files = Directory.GetFiles(Folder);

        Assert.Equal(Files.Append("kustomization.yaml").Order(), files.Select(file => Path.GetFileName(file)).Order());
        Assert.InRange(files.Sum(file => File.ReadLines(file).Count()), 1, LinesMax);
        Assert.DoesNotContain(files.SelectMany(File.ReadLines), line => line.Length > 120);
    }

    [Theory]
    [MemberData(nameof(Workloads))]
    public void A_pod_has_the_rights_of_a_container_of_compose_and_the_profile_restricted_takes_it(string kind)
    {
        var (pod, container) = (PodOf(kind), ContainerOf(kind));
        var (user, rights) = (pod["securityContext"]!, container["securityContext"]!);
        var image = Assert.Single(Kustomization["images"]!.AsArray())!;

        Assert.Equal("restricted", Text(Of("Namespace")["metadata"]!["labels"]!["pod-security.kubernetes.io/enforce"]));
        Assert.Contains(
            $"\nUSER {user["runAsUser"]}:{user["runAsGroup"]}\n", File.ReadAllText(Repository.PathOf("Dockerfile")),
            StringComparison.Ordinal);
        Assert.Equal(
            ("true", "RuntimeDefault"), (Text(user["runAsNonRoot"]), Text(user["seccompProfile"]!["type"])));
        Assert.Equal(
            ("true", "false", """["ALL"]"""),
            (Text(rights["readOnlyRootFilesystem"]), Text(rights["allowPrivilegeEscalation"]),
                rights["capabilities"]!["drop"]!.ToJsonString()));
        Assert.Equal("false", Text(pod["automountServiceAccountToken"]));
        Assert.Equal(Text(image["name"]), Text(container["image"]));
        Assert.Equal(
            Text(container["resources"]!["requests"]!["memory"]), Text(container["resources"]!["limits"]!["memory"]));
        foreach (var key in new[] { "hostNetwork", "hostPID", "hostIPC", "initContainers" })
            Assert.Null(pod[key]);
    }

    // A change of the tag alone would leave the page's image behind.
    [Fact]
    public void The_image_is_that_of_this_release() => Assert.Equal(
        Regex.Match(File.ReadAllText(Repository.PathOf("Directory.Build.props")), "<Version>(.+)</").Groups[1].Value,
        Text(Kustomization["images"]![0]!["newTag"]));

    [Fact]
    public void No_secret_stands_in_a_file_and_each_is_mounted_where_the_instance_looks()
    {
        foreach (var kind in Kinds)
        {
            var settings = EnvironmentOf(kind, "pod");
            var mount = Assert.Single(ContainerOf(kind)["volumeMounts"]!.AsArray())!;
            Assert.Equal(settings["Gateway__Secrets__Directory"], Text(mount["mountPath"]));
            Assert.DoesNotContain(settings.Keys, key => key.Contains("Token", StringComparison.OrdinalIgnoreCase)
                || key.StartsWith("ConnectionStrings", StringComparison.OrdinalIgnoreCase));
        }

        // Otherwise whoever takes an instance over may change tables.
        Assert.NotEqual(SecretOf(Pods.Instance), SecretOf(Pods.Migration));
        Assert.All(Files, file => Assert.DoesNotContain(
            "kind: Secret", File.ReadAllText(Path.Combine(Folder, file)), StringComparison.Ordinal));

        static string SecretOf(string kind) => Text(PodOf(kind)["volumes"]![0]!["secret"]!["secretName"]);
    }

    [Fact]
    public void A_stop_leaves_a_pod_the_hook_and_the_drain()
    {
        var hostMargin = TimeSpan.FromSeconds(5);
        var hook = TimeSpan.FromSeconds(
            int.Parse(Text(ContainerOf(Pods.Instance)["lifecycle"]!["preStop"]!["sleep"]!["seconds"])));
        var grace = TimeSpan.FromSeconds(int.Parse(Text(PodOf(Pods.Instance)["terminationGracePeriodSeconds"])));

        Assert.True(hook > TimeSpan.Zero);
        Assert.True(grace > hook + TestSettings.Read().Settling.DrainTimeout + hostMargin);
    }

    [Fact]
    public void Each_name_leads_to_a_port_of_the_pod_and_each_selector_to_its_labels()
    {
        var container = ContainerOf(Pods.Instance);
        var ports = Names(container["ports"], port => port["name"]).ToHashSet();
        var service = Of("Service");
        var labels = Of(Pods.Instance)["spec"]!["template"]!["metadata"]!["labels"]!;
        var instance = labels.ToJsonString();
        var policy = Of("NetworkPolicy")["spec"]!;

        Assert.Subset(ports, Names(service["spec"]!["ports"], port => port["targetPort"]).ToHashSet());
        Assert.Equal("http", Text(container["readinessProbe"]!["httpGet"]!["port"]));
        Assert.Equal("http", Text(container["livenessProbe"]!["httpGet"]!["port"]));
        Assert.Equal(["http", "operator"], policy["ingress"]!.AsArray().SelectMany(
            one => Names(one!["ports"], port => port["port"])));
        var entry = Of("Ingress")["spec"]!["rules"]![0]!["http"]!["paths"]![0]!["backend"]!["service"]!;
        Assert.Equal(
            (Text(service["metadata"]!["name"]), "http"), (Text(entry["name"]), Text(entry["port"]!["name"])));
        var monitor = Of("ServiceMonitor")["spec"]!;
        Assert.Equal("operator", Text(Assert.Single(monitor["endpoints"]!.AsArray())!["port"]));
        Assert.Equal(
            service["metadata"]!["labels"]!.ToJsonString(), monitor["selector"]!["matchLabels"]!.ToJsonString());

        Assert.Equal(instance, service["spec"]!["selector"]!.ToJsonString());
        Assert.Equal(instance, Of(Pods.Instance)["spec"]!["selector"]!["matchLabels"]!.ToJsonString());
        Assert.Equal(instance, Of("PodDisruptionBudget")["spec"]!["selector"]!["matchLabels"]!.ToJsonString());
        foreach (var (key, value) in policy["podSelector"]!["matchLabels"]!.AsObject())
            Assert.All(Kinds, kind => Assert.Equal(
                Text(value), Text(Of(kind)["spec"]!["template"]!["metadata"]!["labels"]![key])));
    }

    // During a rollout one instance more runs, and a processor of the contract takes 800 calls at once.
    [Fact]
    public void All_instances_of_a_rollout_together_stay_within_what_a_processor_takes()
    {
        var spec = Of(Pods.Instance)["spec"]!;
        var most = int.Parse(Text(spec["replicas"])) + int.Parse(Text(spec["strategy"]!["rollingUpdate"]!["maxSurge"]));
        var charges = int.Parse(EnvironmentOf(Pods.Instance, "pod")["Gateway__Settling__MaxConcurrency"]!);

        Assert.InRange(most * (charges + TestSettings.Read().Settling.LookupConcurrency), 1, 800);
        Assert.Equal("0", Text(spec["strategy"]!["rollingUpdate"]!["maxUnavailable"]));
    }
}
