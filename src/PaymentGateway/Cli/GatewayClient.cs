using PaymentGateway.Leasing;

namespace PaymentGateway.Cli;

/// <summary>A running gateway, asked by HTTP over TCP or a Unix socket.</summary>
/// <param name="url">As in ASPNETCORE_URLS.</param>
internal sealed class GatewayClient(string url, string? token, CancellationToken cancellation) : IDisposable
{
    // A replay of all takes 2 s, and nginx asks the other instance after 3 s.
    private static readonly TimeSpan AnswerLimit = TimeSpan.FromSeconds(10);

    private readonly HttpClient _http = Open(url, token, AnswerLimit);

    public bool HasToken => token is not null;

    /// <summary>Makes a call without a body; its answer may take any time, as long as it grows line by line.</summary>
    /// <param name="path">With its query.</param>
    /// <param name="members">What the answer must have; none: it must be empty; null: any object.</param>
    /// <param name="tell">Gets each line that reports progress.</param>
    /// <exception cref="VerbException">
    /// The gateway is unavailable, it refused the call, or another service answered.
    /// </exception>
    public async Task<JsonObject> AskAsync(
        HttpMethod method, string path, string[]? members, Action<JsonNode>? tell = null)
    {
        try
        {
            using var request = new HttpRequestMessage(method, path.TrimStart('/'));
            using var answer = await _http.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancellation);
            using var reader = new StreamReader(await answer.Content.ReadAsStreamAsync(cancellation));
            var text = new StringBuilder();
            while (await reader.ReadLineAsync(cancellation).AsTask()
                .WaitAsync(AnswerLimit, TimeProvider.System, cancellation) is { } line)
            {
                text.AppendLine(line);
                if (line.StartsWith("{\"phase\"", StringComparison.Ordinal)
                    && JsonNode.Parse(line.TrimEnd(']', ',')) is { } progress)
                    tell?.Invoke(progress);
            }

            if (!answer.IsSuccessStatusCode)
                throw Refused((int)answer.StatusCode, text.ToString());

            return (text.Length == 0 ? new JsonObject() : JsonNode.Parse(text.ToString())) is JsonObject body
                && (members is [] ? body.Count == 0 : members?.All(body.ContainsKey) != false)
                    ? body
                    : throw Foreign("the answer is another service's");
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

    public void Dispose() => _http.Dispose();

    /// <summary>A client of an address in Kestrel's notation.</summary>
    /// <exception cref="UriFormatException">The address is malformed.</exception>
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

        var http = new HttpClient(handler) { BaseAddress = new Uri(address.TrimEnd('/') + "/"), Timeout = limit };
        http.DefaultRequestHeaders.Add("User-Agent", GatewayOptions.UserAgent);
        return http;
    }

    /// <summary>A client of an address that an option gave.</summary>
    /// <param name="token">Sent with each call.</param>
    /// <exception cref="VerbException">The address is no URL, or the token no value of a header.</exception>
    public static HttpClient Open(string url, string? token, TimeSpan limit)
    {
        if (!Uri.TryCreate(url, UriKind.Absolute, out var uri) || uri.Scheme is not ("http" or "https"))
            throw new VerbException(ExitCodes.Usage, $"--url: '{url}' is not an absolute http or https URL");
        if (!SettingsReader.IsBase(uri))
            throw new VerbException(ExitCodes.Usage, $"--url: {SettingsReader.MoreThanABase}");
        if (token?.IndexOfAny(['\r', '\n']) >= 0)
            throw new VerbException(ExitCodes.Usage, "--token: has a line break");

        var http = Open(url, limit);
        if (token is not null)
            http.DefaultRequestHeaders.Add("X-Rinha-Token", token);
        return http;
    }

    private VerbException Foreign(string why) => new(ExitCodes.Failed, $"{url}: {why}; is this the gateway?");

    // Only an error of the gateway itself is shown with its detail.
    private VerbException Refused(int status, string body)
    {
        var problem = ProblemOf(body);
        // A 404 of a call itself has a type of its own; this one says that the listener does not have the path.
        if (status == 404 && problem?.Type == Problems.NotFound.Type)
            return new VerbException(
                ExitCodes.Usage, $"--url: {url} is not an operator's listener; use one of Gateway__Admin__Urls");

        var exitCode = status switch
        {
            // A proxy answers these too, for a gateway behind it.
            429 or 502 or 503 or 504 => ExitCodes.Unavailable,
            _ when problem?.Type?.StartsWith(Problem.TypePrefix, StringComparison.Ordinal) != true => (int?)null,
            400 => ExitCodes.Usage,
            401 => ExitCodes.NotPermitted,
            403 when problem.Type == Problems.RoleNeeded.Type => ExitCodes.NotPermitted,
            403 => ExitCodes.WrongSetting,
            404 => ExitCodes.No,
            409 => ExitCodes.Unavailable,
            _ => ExitCodes.Failed,
        };
        return exitCode is { } known && problem?.Detail is { } detail
            ? new VerbException(known, detail)
            : new VerbException(exitCode ?? ExitCodes.Failed, $"{url} answered {status}; is this the gateway?");
    }

    // A proxy in between, or another service, may answer anything: then a member may be null too.
    private static ProblemAnswer? ProblemOf(string body)
    {
        try
        {
            return JsonSerializer.Deserialize(body, GatewayJsonContext.Default.ProblemAnswer);
        }
        catch (JsonException)
        {
            return null;
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
