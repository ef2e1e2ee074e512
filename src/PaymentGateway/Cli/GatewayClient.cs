using PaymentGateway.Http;
using PaymentGateway.Leasing;

namespace PaymentGateway.Cli;

/// <summary>A running gateway, asked by HTTP over TCP or a Unix socket.</summary>
/// <param name="url">As in ASPNETCORE_URLS.</param>
/// <param name="token">The admin token; null for none.</param>
/// <param name="cancellation">Ends a call.</param>
internal sealed class GatewayClient(string url, string? token, CancellationToken cancellation) : IDisposable
{
    // A replay of all takes 2 s, and nginx asks the other instance after 3 s.
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(10);

    private readonly HttpClient _http = TryOpen(url);

    /// <summary>Whether calls carry an admin token.</summary>
    public bool HasToken => token is not null;

    /// <summary>GET of an object.</summary>
    /// <param name="path">With its query.</param>
    /// <param name="members">What a gateway's answer always has.</param>
    /// <exception cref="VerbException">The gateway is unavailable, or the answer is an error, or another's.</exception>
    public async Task<JsonObject> GetAsync(string path, params string[] members) =>
        Checked(await SendAsync(HttpMethod.Get, path), members);

    /// <summary>POST without a body, which a gateway answers with an object.</summary>
    /// <exception cref="VerbException">As with GET.</exception>
    public async Task<JsonObject> PostAsync(string path, params string[] members) =>
        Checked(await SendAsync(HttpMethod.Post, path), members);

    /// <summary>POST without a body, which a gateway answers with none.</summary>
    /// <exception cref="VerbException">As with GET.</exception>
    public async Task OrderAsync(string path)
    {
        if (await SendAsync(HttpMethod.Post, path) is not null)
            throw Foreign("the answer is not empty");
    }

    /// <summary>POST without a body, of which the answer grows line by line while the gateway works.</summary>
    /// <param name="path">With its query.</param>
    /// <param name="tell">Gets each line that is an object by itself.</param>
    /// <returns>The whole answer.</returns>
    /// <exception cref="VerbException">As with GET; or the answer stood still, or broke off.</exception>
    public Task<JsonNode?> PostLongAsync(string path, Func<JsonNode, Task> tell) =>
        SendAsync(HttpMethod.Post, path, tell);

    public void Dispose() => _http.Dispose();

    /// <summary>A client of whoever listens on an address in Kestrel's notation.</summary>
    /// <exception cref="UriFormatException">It is none.</exception>
    public static HttpClient Open(string url, TimeSpan limit)
    {
        // A redirection would take the token elsewhere.
        var handler = new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false };
        // Kestrel's notations for every address.
        var address = url.Replace("//+", "//localhost", StringComparison.Ordinal)
            .Replace("//*", "//localhost", StringComparison.Ordinal);
        if (url.StartsWith(InstanceLock.UnixScheme, StringComparison.OrdinalIgnoreCase))
        {
            var path = url[InstanceLock.UnixScheme.Length..];
            handler.ConnectCallback = (_, over) => ConnectAsync(path, over);
            address = "http://localhost";
        }

        return new HttpClient(handler) { BaseAddress = new Uri(address.TrimEnd('/') + "/"), Timeout = limit };
    }

    private static HttpClient TryOpen(string url)
    {
        if (Uri.TryCreate(url, UriKind.Absolute, out var uri) && uri.Scheme is "http" or "https")
            return Open(url, AnswerLimit);
        throw new VerbException(ExitCodes.Usage, $"--url: '{url}' is not an absolute http or https URL");
    }

    private Task<JsonNode?> SendAsync(
        HttpMethod method, string path, Func<JsonNode, Task>? tell = null) => AnswerAsync(async () =>
    {
        using var request = Request(method, path);
        using var answer = await _http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancellation);
        await using var body = await answer.Content.ReadAsStreamAsync(cancellation);
        using var reader = new StreamReader(body);
        var text = new StringBuilder();
        while (await reader.ReadLineAsync(cancellation).AsTask()
            .WaitAsync(AnswerLimit, TimeProvider.System, cancellation) is { } line)
        {
            text.AppendLine(line);
            if (tell is not null && line.StartsWith("{\"phase\"", StringComparison.Ordinal)
                && JsonNode.Parse(line.TrimEnd(']', ',')) is { } progress)
                await tell(progress);
        }

        if (!answer.IsSuccessStatusCode)
            throw Refused((int)answer.StatusCode, text.ToString());

        return text.Length == 0 ? null : JsonNode.Parse(text.ToString());
    });

    private HttpRequestMessage Request(HttpMethod method, string path)
    {
        var request = new HttpRequestMessage(method, path.TrimStart('/'));
        if (token?.IndexOfAny(['\r', '\n']) >= 0)
            throw new VerbException(ExitCodes.Usage, "--token: has a line break");
        if (token is not null)
            request.Headers.Add("X-Rinha-Token", token);
        return request;
    }

    private async Task<T> AnswerAsync<T>(Func<Task<T>> ask)
    {
        try
        {
            return await ask();
        }
        catch (Exception failed) when (failed is HttpRequestException or IOException)
        {
            throw new VerbException(ExitCodes.Unavailable, $"{url}: {failed.Message}");
        }
        catch (Exception silent) when (
            silent is TimeoutException or OperationCanceledException && !cancellation.IsCancellationRequested)
        {
            throw new VerbException(
                ExitCodes.Unavailable, $"{url}: no answer within {AnswerLimit.TotalSeconds:0} s");
        }
        catch (JsonException)
        {
            throw Foreign("the answer is no JSON");
        }
    }

    private JsonObject Checked(JsonNode? body, string[] members) =>
        body is JsonObject answer && Array.TrueForAll(members, answer.ContainsKey)
            ? answer
            : throw Foreign("the answer is another service's");

    private VerbException Foreign(string why) => new(ExitCodes.Failed, $"{url}: {why}; is this the gateway?");

    // The verb's error for an answer that is one; only an error of the gateway itself names its problem.
    private VerbException Refused(int status, string body)
    {
        var (type, detail) = ProblemOf(body);
        // A 404 of a call itself has a type of its own; this one says that the listener does not have the path.
        if (status == 404 && type == Problems.NotFound.Type)
            return new VerbException(
                ExitCodes.Usage, $"--url: {url} is not an operator's listener; use one of Gateway__Admin__Urls");

        var exitCode = status switch
        {
            // These a proxy says as well, for a gateway behind it.
            429 or 502 or 503 or 504 => ExitCodes.Unavailable,
            _ when type?.StartsWith(Problem.TypePrefix, StringComparison.Ordinal) != true => (int?)null,
            400 => ExitCodes.Usage,
            401 => ExitCodes.NotPermitted,
            403 when type == Problems.RoleNeeded.Type => ExitCodes.NotPermitted,
            403 => ExitCodes.WrongSetting,
            404 => ExitCodes.No,
            409 => ExitCodes.Unavailable,
            _ => ExitCodes.Failed,
        };
        return exitCode is { } known && detail is not null
            ? new VerbException(known, detail)
            : new VerbException(exitCode ?? ExitCodes.Failed, $"{url} answered {status}; is this the gateway?");
    }

    // RFC 9457; a proxy in between, or another service, may answer anything.
    private static (string? Type, string? Detail) ProblemOf(string body)
    {
        try
        {
            return JsonNode.Parse(body) is JsonObject problem
                ? ((string?)problem["type"], (string?)problem["detail"])
                : default;
        }
        catch (Exception other) when (other is JsonException or InvalidOperationException)
        {
            return default;
        }
    }

    private static async ValueTask<Stream> ConnectAsync(string path, CancellationToken over)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            await socket.ConnectAsync(new UnixDomainSocketEndPoint(path), over);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }
}
