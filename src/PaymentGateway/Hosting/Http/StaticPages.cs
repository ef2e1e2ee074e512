using System.IO.Compression;
using System.IO.Hashing;
using Microsoft.Net.Http.Headers;

namespace PaymentGateway.Hosting.Http;

/// <summary>
/// Sends pages, styles and scripts out of the binary, which has them compressed (PaymentGateway.csproj). Each request
/// reads its file anew, so memory keeps none.
/// </summary>
internal static class StaticPages
{
    private const string Folder = "pages/";
    private const string Gzip = "gzip";

    // Of compressed bytes: an instance that unpacked the script of /docs for a client would pay a megabyte for it.
    private const int UnpackedMax = 100_000;

    // Only scripts and styles of the page's own host, none inline, and no frame around the page.
    private const string Policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

    public static IEndpointConventionBuilder MapPage(
        this IEndpointRouteBuilder routes, string path, string name)
    {
        var mapped = routes.MapGetAndHead(path, Answer(name, TypeOf(name)));
        // The outermost delegate, because inner ones answer with relative paths too.
        mapped.Finally(endpoint => endpoint.RequestDelegate = WithoutSlash(endpoint.RequestDelegate!));
        return mapped;
    }

    // Routing ignores a slash at the end of a path, and a browser would resolve the page's links differently.
    private static RequestDelegate WithoutSlash(RequestDelegate next) => context =>
    {
        var path = context.Request.Path.ToUriComponent();
        if (!path.EndsWith('/'))
            return next(context);

        context.Response.StatusCode = StatusCodes.Status308PermanentRedirect;
        context.Response.Headers.Location =
            "../" + path.TrimEnd('/').Split('/')[^1] + context.Request.QueryString.ToUriComponent();
        return Task.CompletedTask;
    };

    private static RequestDelegate Answer(string name, string contentType)
    {
        EntityTagHeaderValue? tag = null;
        return context =>
        {
            var content = typeof(StaticPages).Assembly.GetManifestResourceStream(Folder + name)
                ?? throw new InvalidOperationException($"The binary has no page {name}.");
            // Weak, because both encodings share it.
            tag ??= new EntityTagHeaderValue($"\"{HashOf(content)}\"", isWeak: true);

            var headers = context.Response.Headers;
            headers.CacheControl = "no-cache"; // Revalidated each time, and mostly answered with 304.
            headers.Vary = HeaderNames.AcceptEncoding;
            headers.ContentSecurityPolicy = Policy;
            headers.XContentTypeOptions = "nosniff";
            // Without any referrer, a form would be posted with the origin "null".
            headers["Referrer-Policy"] = "same-origin";
            if (TakesGzip(context.Request))
                headers.ContentEncoding = Gzip;
            else if (content.Length > UnpackedMax)
            {
                context.Response.StatusCode = StatusCodes.Status406NotAcceptable;
                return content.DisposeAsync().AsTask();
            }
            else
                content = new GZipStream(content, CompressionMode.Decompress);
            return TypedResults.Stream(content, contentType, entityTag: tag).ExecuteAsync(context);
        };
    }

    private static bool TakesGzip(HttpRequest request) =>
        StringWithQualityHeaderValue.TryParseList(request.Headers.AcceptEncoding, out var taken)
        && taken.Any(one => one.Value.Equals(Gzip, StringComparison.OrdinalIgnoreCase) && one.Quality is not 0);

    // SHA-256 would load OpenSSL: 4 MB in each instance.
    private static string HashOf(Stream content)
    {
        var hash = new XxHash3();
        hash.Append(content);
        content.Position = 0;
        return hash.GetCurrentHashAsUInt64().ToString("x16", CultureInfo.InvariantCulture);
    }

    private static string TypeOf(string name) => Path.GetExtension(name) switch
    {
        ".html" => "text/html; charset=utf-8",
        ".css" => "text/css; charset=utf-8",
        ".js" => "text/javascript; charset=utf-8",
        ".json" => "application/json",
        ".txt" => "text/plain; charset=utf-8",
        var other => throw new ArgumentException($"{name}: no content type is known for '{other}'."),
    };
}

/// <summary>GET /openapi.json and the page that shows it: they hold no data.</summary>
internal static class DocumentPages
{
    public const string DocumentPath = "/openapi.json";
    public const string PagePath = "/docs";

    /// <param name="document">The group of callers who may read the document itself.</param>
    public static void MapDocs(this IEndpointRouteBuilder routes, IEndpointRouteBuilder document)
    {
        // A relative path, because a proxy may have the gateway below one of its own.
        routes.MapGetAndHead("/", static context =>
        {
            context.Response.Redirect(PagePath[1..]);
            return Task.CompletedTask;
        });
        document.MapPage(DocumentPath, "openapi.json");
        routes.MapPage(PagePath, "docs.html");
        foreach (var file in (string[])["docs.js", "docs.css", "swagger-ui.js", "swagger-ui.css", "swagger-ui.txt"])
            routes.MapPage($"{PagePath}/{file}", file);
    }
}
