using System.Text.Json.Serialization;

namespace ProcessorSimulator.Administering;

/// <summary>The body of PUT /admin/configurations/token.</summary>
internal sealed record TokenRequest([property: JsonRequired] string Token);

/// <summary>The body of PUT /admin/configurations/delay, in milliseconds.</summary>
internal sealed record DelayRequest([property: JsonRequired] int Delay);

/// <summary>The body of PUT /admin/configurations/failure.</summary>
internal sealed record FailureRequest([property: JsonRequired] bool Failure);
