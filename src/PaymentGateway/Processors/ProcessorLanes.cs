namespace PaymentGateway.Processors;

/// <summary>The lanes of both processors.</summary>
internal sealed class ProcessorLanes(ProcessorLane cheap, ProcessorLane dear)
{
    public ProcessorLane Default { get; } = cheap;

    public ProcessorLane Fallback { get; } = dear;

    public ProcessorLane Of(Processor processor) => processor == Processor.Default ? Default : Fallback;
}
