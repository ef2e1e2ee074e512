namespace PaymentGateway.Hosting.Http;

/// <summary>A kind of error: its type (RFC 9457, section 3.1.1), title and HTTP status.</summary>
/// <param name="Title">Type is made from it.</param>
internal sealed record Problem(string Title, int Status)
{
    public const string TypePrefix = "urn:problem:payment-gateway:";

    public string Type { get; } = TypePrefix + Title.ToLowerInvariant().Replace(' ', '-');
}

/// <summary>Every problem that the gateway answers with (docs/problems.md).</summary>
internal static class Problems
{
    /// <summary>Also with the other statuses that Kestrel gives, such as 408.</summary>
    public static readonly Problem BadRequest = new("Bad request", 400);
    public static readonly Problem BodyTooLarge = new("Body too large", 413);
    public static readonly Problem CrossSiteRequest = new("Cross-site request", 403);
    public static readonly Problem Draining = new("Draining", 503);
    public static readonly Problem EventsGone = new("Events gone", 410);
    public static readonly Problem InternalFailure = new("Internal failure", 500);
    public static readonly Problem InvalidId = new("Invalid id", 400);
    public static readonly Problem InvalidPayment = new("Invalid payment", 400);
    public static readonly Problem InvalidQuery = new("Invalid query", 400);
    public static readonly Problem InvalidWindow = new("Invalid window", 400);
    public static readonly Problem LedgerUnavailable = new("Ledger unavailable", 503);
    public static readonly Problem MethodNotAllowed = new("Method not allowed", 405);
    public static readonly Problem NotFound = new("Not found", 404);
    public static readonly Problem NotParked = new("Not parked", 404);
    public static readonly Problem NotStored = new("Not stored", 503);
    public static readonly Problem Overloaded = new("Overloaded", 503);
    public static readonly Problem PaymentExists = new("Payment exists", 409);
    public static readonly Problem PaymentNotFound = new("Payment not found", 404);
    public static readonly Problem ProcessorNotFound = new("Processor not found", 404);
    public static readonly Problem ProcessorTokenWrong = new("Processor token wrong", 403);
    public static readonly Problem ProcessorUnavailable = new("Processor unavailable", 503);
    public static readonly Problem ReconciliationOff = new("Reconciliation off", 403);
    public static readonly Problem ReconciliationRunning = new("Reconciliation running", 409);
    public static readonly Problem RoleNeeded = new("Role needed", 403);
    public static readonly Problem TokenNeeded = new("Token needed", 401);
    public static readonly Problem TooManyAttempts = new("Too many attempts", 429);
    public static readonly Problem UnsupportedMediaType = new("Unsupported media type", 415);
    public static readonly Problem WebhookNotFound = new("Webhook not found", 404);
}
