namespace PaymentGateway.Tests.Operator.Webhooks;

/// <summary>The snippets of docs/integrate.md do what the page says.</summary>
public sealed class IntegratePageTests() : OneGateway("Admin:LookUp=Everyone")
{
    private const string Secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

    private static readonly Regex Snippet = new(@"(?ms)^```(\w+)\n(.*?)^```$");

    private static readonly ILookup<string, string> Snippets = Snippet
        .Matches(File.ReadAllText(Repository.PathOf("docs", "integrate.md")))
        .ToLookup(match => match.Groups[1].Value, match => match.Groups[2].Value);

    [PostgresFact]
    public async Task A_payment_is_made_and_looked_up_by_curl()
    {
        var (pay, lookUp) = (Snippets["sh"].First(), Snippets["sh"].Last());

        Assert.Equal("", await RunAsync(pay));
        await Rig.LedgersReachAsync(1);
        using var payment = JsonDocument.Parse(await RunAsync(lookUp));

        Assert.Equal(("settled", "19.90"), (payment.RootElement.Text("state"), payment.RootElement.Text("amount")));

        async Task<string> RunAsync(string curl)
        {
            var result = await Shell.RunAsync(
                ["sh", "-ec", curl.Replace("curl ", $"curl --unix-socket {Gateway.Socket} ")]);
            Assert.True(result.Succeeded, result.Output + result.Errors);
            return result.Output.Trim();
        }
    }

    [Fact]
    public void The_verification_in_csharp_is_the_one_that_is_tested()
    {
        var tested = File.ReadAllText(Repository.PathOf(
            "tests", "PaymentGateway.Tests", "Operator", "Webhooks", "WebhookSnippet.cs"));

        Assert.Contains(
            string.Concat(Snippets["csharp"].Single().TrimEnd().Split('\n').Select(line => $"{line.Trim()}\n")),
            string.Concat(tested.Split('\n').Select(line => $"{line.Trim()}\n")), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("", "v1,x")]
    [InlineData("soon", "v1,x")]
    [InlineData("-9223372036854775808", "v1,x")]
    [InlineData("1752582896", "v1,é")]
    public async Task A_forged_call_is_refused_and_breaks_neither_verification(string timestamp, string signature)
    {
        var call = $"""
            headers = dict([("webhook-timestamp", "{timestamp}"), ("webhook-signature", "{signature}")])
            print(verify("{Secret}", headers, b""), verify("{Secret}", dict(), b""))
            """;

        var result = await Shell.RunAsync(["python3", "-c", $"{Snippets["python"].Single()}\n{call}"]);

        Assert.Equal(("False False", ""), (result.Output.Trim(), result.Errors));
        Assert.False(WebhookSnippet.Verify(Secret, "", timestamp, signature, []));
    }

    [Theory]
    [InlineData("{}", 0, "True")]
    [InlineData("{} ", 0, "False")]
    [InlineData("{}", -301, "False")]
    public async Task A_signature_is_verified_by_python(string body, int age, string expected)
    {
        var sent = DateTimeOffset.UtcNow.ToUnixTimeSeconds() + age;
        var signature = PaymentGateway.Operator.Webhooks.WebhookClient.Sign(
            Convert.FromBase64String(Secret["whsec_".Length..]), "1-0-1", sent, "{}"u8.ToArray());
        var call = $"""
            print(verify("{Secret}", {"{"}"webhook-id": "1-0-1", "webhook-timestamp": "{sent}",
                "webhook-signature": "v1,other {signature}"{"}"}, b"{body}"))
            """;

        var result = await Shell.RunAsync(["python3", "-c", $"{Snippets["python"].Single()}\n{call}"]);

        Assert.Equal((expected, ""), (result.Output.Trim(), result.Errors));
        Assert.Equal(
            expected == "True",
            WebhookSnippet.Verify(Secret, "1-0-1", $"{sent}", $"v1,other {signature}", Encoding.UTF8.GetBytes(body)));
    }
}
