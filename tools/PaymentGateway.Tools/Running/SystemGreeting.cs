namespace PaymentGateway.Tools.Running;

/// <summary>The lines that say that a system is ready, and what to try.</summary>
internal static class SystemGreeting
{
    private const string Json = "content-type: application/json";

    public static IEnumerable<string> Of(NativeSystem system)
    {
        yield return $"ready - gateway {system.Url}, default {system.DefaultUrl}, fallback {system.FallbackUrl}; "
            + $"logs in {system.LogDirectory}";
        yield return "try:";
        yield return $"  curl -i -H '{Json}' -d '{{\"correlationId\":\"{Guid.NewGuid()}\",\"amount\":19.90}}' "
            + $"{system.Url}/payments";
        yield return $"  curl {system.Url}/payments-summary";
        yield return $"  in a browser: {system.AdminUrl}/ops and {system.Url}/docs";
        // Only our own simulator is there to be broken.
        if (!system.Settings.HasOutsideDefault)
            yield return $"  curl -X PUT -H 'X-Rinha-Token: 123' -H '{Json}' -d '{{\"failure\":true}}' "
                + $"{system.DefaultUrl}/admin/configurations/failure";
    }
}
