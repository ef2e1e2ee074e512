namespace PaymentGateway.Tests.Compose;

/// <summary>One service of a compose project, with what the tests ask of it.</summary>
internal sealed partial record ComposeService(string Name, JsonObject Node)
{
    public string User => Text("user");

    /// <summary>Null when the image's own stands.</summary>
    public string[]? Command => Texts(Node["entrypoint"]) ?? Texts(Node["command"]);

    public IReadOnlyDictionary<string, string> Environment =>
        (Node["environment"] as JsonObject)?.ToDictionary(pair => pair.Key, pair => pair.Value!.ToString()) ?? [];

    public IReadOnlyDictionary<string, string> DependsOn => (Node["depends_on"] as JsonObject)?
        .ToDictionary(pair => pair.Key, pair => pair.Value!["condition"]!.GetValue<string>()) ?? [];

    public IReadOnlyList<ComposeMount> Mounts => (Node["volumes"] as JsonArray)?
        .Select(mount => new ComposeMount(mount!.AsObject())).ToList() ?? [];

    public IReadOnlyList<string> Networks => Texts(Node["networks"]) ?? [];

    /// <summary>Mounts in memory of this service alone, by path, with their options.</summary>
    public IReadOnlyDictionary<string, string> Tmpfs => (Texts(Node["tmpfs"]) ?? [])
        .Select(mount => mount.Split(':', 2)).ToDictionary(pair => pair[0], pair => pair[1]);

    public decimal Cpus => decimal.Parse(Limit("cpus"), CultureInfo.InvariantCulture);

    public int MemoryMegabytes =>
        int.Parse(Megabytes().Match(Limit("memory")).Groups[1].Value, CultureInfo.InvariantCulture);

    public TimeSpan StopGrace =>
        TimeSpan.FromSeconds(int.Parse(Text("stop_grace_period").TrimEnd('s'), CultureInfo.InvariantCulture));

    /// <summary>The number of the signal that asks it to stop.</summary>
    public int StopSignal => Text("stop_signal") switch
    {
        "SIGINT" => 2,
        "SIGQUIT" => 3,
        "SIGTERM" => 15,
        var other => throw new InvalidOperationException($"{Name}: {other}"),
    };

    public string Text(string key) =>
        Node[key]?.ToString() ?? throw new InvalidOperationException($"services.{Name}.{key} is missing");

    public ComposeMount MountOf(string volume) => Mounts.Single(mount => mount.Source == volume);

    private string Limit(string what) => Node["deploy"]!["resources"]!["limits"]![what]!.ToString();

    private static string[]? Texts(JsonNode? list) => (list as JsonArray)?.Select(item => item!.ToString()).ToArray();

    [GeneratedRegex("^([0-9]+)M$")]
    private static partial Regex Megabytes();
}

/// <summary>A mount in its long form.</summary>
internal sealed record ComposeMount(JsonObject Node)
{
    public string Type => Node["type"]!.GetValue<string>();

    public string Source => Node["source"]!.GetValue<string>();

    public string Target => Node["target"]!.GetValue<string>();

    public bool IsReadOnly => Node["read_only"]?.GetValue<bool>() == true;
}
