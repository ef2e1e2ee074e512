namespace ProcessorSimulator;

/// <summary>The body of an answer that says something in words.</summary>
internal sealed record MessageBody(string Message);
