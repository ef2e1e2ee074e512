using PaymentGateway.Answering;

namespace PaymentGateway.Documenting;

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
