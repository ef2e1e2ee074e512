using Microsoft.Extensions.Configuration;

namespace PaymentGateway.Tests.Support;

/// <summary>The gateway's options from settings as an operator would write them.</summary>
internal static class TestSettings
{
    public static readonly (string Key, string? Value)[] Required =
    [
        ("ConnectionStrings:Ledger", "Host=/nowhere"),
        ("Gateway:Processors:Default:BaseUrl", "http://127.0.0.1:8001"),
        ("Gateway:Processors:Fallback:BaseUrl", "http://127.0.0.1:8002"),
    ];

    /// <summary>The required settings and these; a null takes a required one away.</summary>
    public static GatewayOptions Read(params (string Key, string? Value)[] settings)
    {
        var reader = ReaderOf(settings);
        var options = GatewayOptions.Read(reader);
        reader.RefuseUnknown();
        return options;
    }

    /// <summary>Reads the same settings one by one.</summary>
    public static SettingsReader ReaderOf(params (string Key, string? Value)[] settings)
    {
        var all = new Dictionary<string, string?>();
        foreach (var (key, value) in Required.Concat(settings))
            all[key] = value;
        return new SettingsReader(new ConfigurationBuilder().AddInMemoryCollection(all).Build());
    }

    /// <summary>Asserts that these settings are refused in one line that begins so, and returns it.</summary>
    public static string AssertRefused(string begin, params (string Key, string? Value)[] settings)
    {
        var line = Assert.Throws<ConfigurationException>(() => Read(settings)).Message;
        Assert.StartsWith(begin, line, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', line);
        return line;
    }
}
