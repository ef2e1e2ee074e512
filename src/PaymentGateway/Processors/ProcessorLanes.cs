namespace PaymentGateway.Processors;

/// <summary>The lanes of both processors.</summary>
internal sealed class ProcessorLanes(ProcessorLane defaultLane, ProcessorLane fallbackLane)
{
    public ProcessorLane Default { get; } = defaultLane;

    public ProcessorLane Fallback { get; } = fallbackLane;

    public ProcessorLane Of(Processor processor) => processor == Processor.Default ? Default : Fallback;
}
