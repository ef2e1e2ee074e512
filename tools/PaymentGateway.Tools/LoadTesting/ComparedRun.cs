using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tools.LoadTesting;

/// <summary>One run of a comparison's side.</summary>
public sealed record ComparedRun(string Side, SideKind Kind, RunResult Result);
