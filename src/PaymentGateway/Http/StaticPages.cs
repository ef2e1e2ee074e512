using System.Globalization;
using System.IO.Compression;
using System.IO.Hashing;
using Microsoft.Net.Http.Headers;

namespace PaymentGateway.Http;

/// <summary>
/// Pages, styles and scripts out of the binary, where they lie compressed (PaymentGateway.csproj). Nothing is kept in
/// memory: a request reads what it sends.
/// </summary>
internal static class StaticPages
{
    private const string Folder = "pages/";
    private const string Gzip = "gzip";

    // Bytes that are unpacked before they are sent; the default is five times as many.
    private const int UnpackedBytes = 16 * 1024;

    // Scripts and styles of the page's own host and no others, also none in the page; no frame around it.
    private const string Policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

    /// <summary>Maps GET and HEAD of a path to an embedded file.</summary>
    /// <param name="routes">Where it is reached: the group of an operator's calls, or everybody's.</param>
    /// <param name="path">Of the page.</param>
    /// <param name="name">In the csproj; its extension tells the content type.</param>
    public static IEndpointConventionBuilder MapPage(
        this IEndpointRouteBuilder routes, string path, string name)
    {
        var page = new StaticPage(name, TypeOf(name));
        var mapped = routes.MapGetAndHead(path, page.AnswerAsync);
        // Around whatever else is put around the page: what that leads to is relative, too.
        mapped.Finally(endpoint => endpoint.RequestDelegate = WithoutSlash(endpoint.RequestDelegate!));
        return mapped;
    }

    // Routing takes a path with a slash after it for the same, and a browser resolves links of the page differently.
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

    private static string TypeOf(string name) => Path.GetExtension(name) switch
    {
        ".html" => "text/html; charset=utf-8",
        ".css" => "text/css; charset=utf-8",
        ".js" => "text/javascript; charset=utf-8",
        ".json" => "application/json",
        ".svg" => "image/svg+xml",
        ".png" => "image/png",
        ".txt" => "text/plain; charset=utf-8",
        var other => throw new ArgumentException($"{name}: no content type is known for '{other}'."),
    };

    /// <summary>One file; what it is known by is read when it is first asked for.</summary>
    private sealed class StaticPage(string name, string contentType)
    {
        private EntityTagHeaderValue? _tag;

        public async Task AnswerAsync(HttpContext context)
        {
            await using var compressed = typeof(StaticPages).Assembly.GetManifestResourceStream(Folder + name)
                ?? throw new InvalidOperationException($"The binary has no page {name}.");
            // Weak: it is the same page in either encoding.
            _tag ??= new EntityTagHeaderValue($"\"{HashOf(compressed)}\"", isWeak: true);

            var headers = context.Response.Headers;
            headers.ETag = _tag.ToString();
            headers.CacheControl = "no-cache"; // Asked for anew each time, and mostly answered with 304.
            headers.Vary = HeaderNames.AcceptEncoding;
            headers.ContentSecurityPolicy = Policy;
            headers.XContentTypeOptions = "nosniff";
            // With none at all a form would be posted with the origin "null".
            headers["Referrer-Policy"] = "same-origin";
            if (IsKnownTo(context.Request))
            {
                context.Response.StatusCode = StatusCodes.Status304NotModified;
                return;
            }

            context.Response.ContentType = contentType;
            await (TakesGzip(context.Request)
                ? SendAsync(context, compressed)
                : SendPlainAsync(context, compressed));
        }

        private static async Task SendAsync(HttpContext context, Stream compressed)
        {
            context.Response.Headers.ContentEncoding = Gzip;
            context.Response.ContentLength = compressed.Length;
            if (!HttpMethods.IsHead(context.Request.Method))
                await compressed.CopyToAsync(context.Response.Body, context.RequestAborted);
        }

        private static async Task SendPlainAsync(HttpContext context, Stream compressed)
        {
            if (HttpMethods.IsHead(context.Request.Method))
                return;

            await using var plain = new GZipStream(compressed, CompressionMode.Decompress);
            await plain.CopyToAsync(context.Response.Body, UnpackedBytes, context.RequestAborted);
        }

        private bool IsKnownTo(HttpRequest request) =>
            EntityTagHeaderValue.TryParseList(request.Headers.IfNoneMatch, out var known)
            && known.Any(tag => tag.Equals(EntityTagHeaderValue.Any) || tag.Compare(_tag, useStrongComparison: false));

        private static bool TakesGzip(HttpRequest request) =>
            StringWithQualityHeaderValue.TryParseList(request.Headers.AcceptEncoding, out var taken)
            && taken.Any(one => one.Value.Equals(Gzip, StringComparison.OrdinalIgnoreCase) && one.Quality is not 0);

        private static string HashOf(Stream content)
        {
            var hash = new XxHash3();
            hash.Append(content);
            content.Position = 0;
            return hash.GetCurrentHashAsUInt64().ToString("x16", CultureInfo.InvariantCulture);
        }
    }
}

/// <summary>GET /openapi.json and the page that shows it, on every listener: they hold no data.</summary>
internal static class DocumentPages
{
    public const string DocumentPath = "/openapi.json";
    public const string PagePath = "/docs";

    public static void MapDocs(this IEndpointRouteBuilder routes)
    {
        routes.MapPage(DocumentPath, "openapi.json");
        routes.MapPage(PagePath, "docs.html");
        foreach (var file in (string[])["docs.js", "docs.css", "swagger-ui.js", "swagger-ui.css", "swagger-ui.txt"])
            routes.MapPage($"{PagePath}/{file}", file);
    }
}
