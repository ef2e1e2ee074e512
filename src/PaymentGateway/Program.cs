namespace PaymentGateway;
/// <summary>Entry point.</summary>
internal static class Program { public static void Main() { } }
