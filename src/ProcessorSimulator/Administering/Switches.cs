namespace ProcessorSimulator.Administering;

/// <summary>What the admin calls set and every call looks at; any thread may read and write it.</summary>
internal sealed class Switches(SimulatorOptions options)
{
    private volatile int delayMilliseconds = options.DelayMilliseconds;
    private volatile bool failing = options.Failing;
    private volatile string token = options.Token;

    public int DelayMilliseconds
    {
        get => delayMilliseconds;
        set => delayMilliseconds = value;
    }

    public bool Failing
    {
        get => failing;
        set => failing = value;
    }

    public string Token
    {
        get => token;
        set => token = value;
    }
}
