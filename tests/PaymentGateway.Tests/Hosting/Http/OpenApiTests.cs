using System.Reflection;
using Microsoft.AspNetCore.Routing;
using PaymentGateway.Hosting;
using PaymentGateway.Hosting.Http;
using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Tests.Hosting.Http;

public sealed class OpenApiTests
{
    // The name of a problem, its title and statuses, and its text.
    private static readonly Regex Section = new(
        @"^## `([a-z-]+)`\n\*\*([^*\n]+)\*\*, ([\d, ]+)\n\n(.+?)\n(?=\n## |\z)",
        RegexOptions.Multiline | RegexOptions.Singleline);
    private static readonly Regex Reference = new("\"#/components/schemas/([A-Za-z]+)\"");
    private static readonly Regex Link = new(@"\[([^\]]+)\]\([^)]*\)");

    // Of unknown paths and of other methods: no call's own.
    private static readonly string[] OfNoCall = ["MethodNotAllowed"];

    // What a page is made of is no call.
    private static readonly string[] FilesOfPages = [".js", ".css", ".txt", ".svg", ".png"];

    private static readonly OpenApiDocument Document = OpenApiDocument.Present;

    [Fact]
    public async Task Every_mapped_call_is_documented_and_every_documented_one_is_mapped()
    {
        var mapped = (await RoutesAsync()).Select(route => route.Call).ToHashSet();
        var documented = Document.Operations.Select(operation => $"{operation}").ToHashSet();

        AssertNone("openapi.json lacks", mapped.Except(documented));
        AssertNone("nothing is mapped for", documented.Except(mapped));
    }

    [Fact]
    public async Task An_operators_calls_are_those_that_say_404_of_other_listeners()
    {
        // The list shares its path with what everybody calls, so it is not marked but looks itself.
        var operators = (await RoutesAsync()).Where(route => route.OfOperator).Select(route => route.Call)
            .Append("GET /payments");

        var documented = Document.Operations.Where(
            operation => TypesOf(operation, 404).Contains(Problem.TypePrefix + "not-found"));

        Assert.Equal(operators.Order(), documented.Select(operation => $"{operation}").Order());
    }

    [Fact]
    public void Every_call_that_needs_the_token_says_401_and_no_other_does() => Assert.All(
        Document.Operations,
        operation => Assert.Equal(
            (operation.Id, operation.NeedsToken), (operation.Id, operation.Responses.ContainsKey(401))));

    [Fact]
    public void Problems_are_those_of_the_page_with_its_words_and_those_of_the_code()
    {
        var told = Section.Matches(File.ReadAllText(Repository.PathOf("docs", "problems.md"))).Select(section =>
            (Type: Problem.TypePrefix + section.Groups[1].Value, Title: section.Groups[2].Value,
                Statuses: section.Groups[3].Value, Words: Plain(section.Groups[4].Value))).ToList();

        var documented = DocumentedProblems().Select(problem => (
            TextOf(problem, "type"), TextOf(problem, "title"), StatusesOf(problem),
            problem["description"]!.GetValue<string>()));
        // Whatever Kestrel has against a request is a bad one.
        var answered = typeof(Problems).GetFields(BindingFlags.Public | BindingFlags.Static)
            .Select(field => (Problem)field.GetValue(null)!)
            .Select(one => (one.Type, one.Title, one == Problems.BadRequest ? "400, 408" : $"{one.Status}"));

        Assert.Equal(told, documented);
        Assert.Equal(told.Select(one => (one.Type, one.Title, one.Statuses)).Order(), answered.Order());
    }

    [Fact]
    public void Every_problem_is_one_of_a_call()
    {
        var used = Document.Operations.SelectMany(operation => operation.Responses.Values)
            .SelectMany(response => Reference.Matches(response.ToJsonString()))
            .Select(match => match.Groups[1].Value);

        AssertNone("no call has", Document.Schemas.Where(schema => IsProblem(schema.Value!))
            .Select(schema => schema.Key).Except(used).Except(OfNoCall));
    }

    [Fact]
    public void A_problem_stands_at_its_own_status_only() => Assert.All(
        Document.Operations.SelectMany(
            operation => operation.Responses.Keys, (operation, status) => (Operation: operation, Status: status)),
        at => Assert.All(
            TypesOf(at.Operation, at.Status),
            type => Assert.Contains(
                $"{at.Status}",
                StatusesOf(DocumentedProblems().Single(one => TextOf(one, "type") == type)).Split(", "))));

    [Fact]
    public void Every_503_says_when_to_come_back() => Assert.All(
        Document.Operations,
        operation => Assert.True(operation.Responses[503]["headers"]!["Retry-After"] is not null, $"{operation}"));

    [Theory]
    [InlineData("2025-07-15")]
    [InlineData("2024-02-29")]
    [InlineData("2000-02-29T23:59")]
    [InlineData("9998-12-31T23:59:59.9999999Z")]
    [InlineData("2025-07-15T12:34:56.1-13:59")]
    [InlineData("2025-07-15T12:34+14:00")]
    [InlineData("2025-02-29")]
    [InlineData("1900-02-29")]
    [InlineData("2025-04-31")]
    [InlineData("2025-13-01")]
    [InlineData("2025-00-10")]
    [InlineData("0000-01-01")]
    [InlineData("9999-01-01")]
    [InlineData("2025-07-15T24:00")]
    [InlineData("2025-07-15T12:60")]
    [InlineData("2025-07-15T12:34:60Z")]
    [InlineData("2025-07-15T12:34:56.12345678Z")]
    [InlineData("2025-07-15T12:34:56.123456789Z")]
    [InlineData("2025-07-15T12:34:56.1234567890123456Z")]
    [InlineData("2025-07-15T12:34:56.123456x89Z")]
    [InlineData("2025-07-15T12:34:56.")]
    [InlineData("2025-07-15T12:34:56.Z")]
    [InlineData("2025-07-15T12:34.5Z")]
    [InlineData("2025-07-15T12:34:56,5Z")]
    [InlineData("2025-07-15t12:34:56.123z")]
    [InlineData("2025-07-15t12:34z")]
    [InlineData("2025-07-15 12:34:56+02:00")]
    [InlineData("2025-07-15 12:34:56")]
    [InlineData("2025-07-15 02:00")]
    [InlineData("2025-07-15T12:34:56+02")]
    [InlineData("2025-07-15T12:34:56.123456789+02")]
    [InlineData("2025-07-15T12:34-14")]
    [InlineData("2025-07-15T12:34+15")]
    [InlineData("2025-07-15T12:34+2")]
    [InlineData("2025-07-15T12:34+0200")]
    [InlineData("2025-07-15+02")]
    [InlineData("2025-07-15T12:34+14:01")]
    [InlineData("2025-07-15T12:34+13:60")]
    public void Pattern_of_a_bound_matches_what_is_accepted(string text) => Assert.Equal(
        Timestamps.TryParse(text, out _, out _), Document.FaultsOf(Document.Schemas["Bound"]!, text).Count == 0);

    [Fact]
    public void Pattern_of_a_cursor_matches_what_is_accepted()
    {
        var cursors = Document["listPayments"].Parameters.Single(one => $"{one["name"]}" == "after");

        Assert.All(
            "ABZ_",
            letter => Assert.True(
                CursorText.TryRead($"A{letter}{new string('_', 30)}") is not null
                || Document.FaultsOf(cursors["schema"]!, $"A{letter}{new string('_', 30)}").Count > 0));
        Assert.NotEmpty(Document.FaultsOf(cursors["schema"]!, new string('_', 31) + "8"));
        // A cursor of the past makes an example that finds nothing, because the list goes back in time.
        Assert.True(CursorText.TryRead($"{cursors["example"]}")!.AcceptedAt > DateTime.UtcNow);
    }

    [Fact]
    public void Calls_that_need_the_token_need_none_where_none_is_set() => Assert.All(
        Document.Operations.Where(operation => operation.NeedsToken),
        operation => Assert.Empty(
            Document.Root["paths"]![operation.Path]![operation.Method.ToLowerInvariant()]!["security"]!
                .AsArray()[^1]!.AsObject()));

    private static async Task<List<(string Call, bool OfOperator)>> RoutesAsync()
    {
        var directory = Directory.CreateTempSubdirectory("gateway-routes");
        try
        {
            var socket = $"http://unix:{Path.Combine(directory.FullName, "api.sock")}";
            string[] args =
            [
                $"--urls={socket}", $"--Gateway:Admin:Urls={socket}", "--Logging:LogLevel:Default=None",
                .. TestSettings.Required.Select(setting => $"--{setting.Key}={setting.Value}"),
            ];
            await using var app = GatewayApp.Create(args);
            return ((IEndpointRouteBuilder)app).DataSources.SelectMany(source => source.Endpoints)
                .OfType<RouteEndpoint>().SelectMany(CallsOf).ToList();
        }
        finally
        {
            directory.Delete(recursive: true);
        }
    }

    private static IEnumerable<(string Call, bool OfOperator)> CallsOf(RouteEndpoint endpoint)
    {
        // A group has a slash after it.
        var path = endpoint.RoutePattern.RawText!.TrimEnd('/');
        // The root leads to a page.
        return path.Length == 0 || FilesOfPages.Contains(Path.GetExtension(path))
            ? []
            // A HEAD is a GET without its body.
            : endpoint.Metadata.GetMetadata<HttpMethodMetadata>()!.HttpMethods.Where(method => method != "HEAD")
                .Select(method => ($"{method} {path}", endpoint.Metadata.Contains(AdminListener.Only)));
    }

    private static IEnumerable<string> TypesOf(DocumentedOperation operation, int status) =>
        operation.Responses.TryGetValue(status, out var response)
            ? Reference.Matches(response.ToJsonString())
                .Select(match => Document.Schemas[match.Groups[1].Value]!).Where(IsProblem)
                .Select(problem => TextOf(problem.AsObject(), "type"))
            : [];

    private static IEnumerable<JsonObject> DocumentedProblems() =>
        Document.Schemas.Select(schema => schema.Value!).Where(IsProblem).Select(schema => schema.AsObject());

    private static bool IsProblem(JsonNode schema) => schema["properties"]?["type"]?["const"] is JsonValue type
        && type.GetValue<string>().StartsWith(Problem.TypePrefix, StringComparison.Ordinal);

    private static string TextOf(JsonObject problem, string member) =>
        problem["properties"]![member]!["const"]!.GetValue<string>();

    private static string StatusesOf(JsonObject problem)
    {
        var status = problem["properties"]!["status"]!;
        return status["const"] is { } one ? $"{one}" : string.Join(", ", status["enum"]!.AsArray());
    }

    private static string Plain(string markdown) =>
        Link.Replace(markdown, "$1").Replace("`", "", StringComparison.Ordinal).Replace('\n', ' ');

    private static void AssertNone(string what, IEnumerable<string> names)
    {
        var all = names.Order(StringComparer.Ordinal).ToList();
        Assert.True(all.Count == 0, $"{what}: {string.Join(", ", all)}");
    }
}
