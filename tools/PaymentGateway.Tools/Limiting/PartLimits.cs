namespace PaymentGateway.Tools.Limiting;

/// <summary>Running parts under the shares of docker-compose.yml, until it is disposed.</summary>
public sealed class PartLimits : IDisposable
{
    private PartLimits()
    {
    }

    /// <summary>Where each part's CPU time is counted, as the load tests take it: nginx=/sys/…,api1=/sys/…</summary>
    public string CpuFiles => throw new NotImplementedException();

    /// <summary>A line for each part and what it got.</summary>
    public IReadOnlyList<string> Lines => throw new NotImplementedException();

    /// <param name="pids">The first process of each part: all of its processes are moved.</param>
    /// <exception cref="ToolException">The machine does not let us; nothing is left behind.</exception>
    public static PartLimits Put(IReadOnlyDictionary<string, int> pids) => throw new NotImplementedException();

    /// <summary>The CPU time a part has used since it was put here.</summary>
    public long CpuMilliseconds(string part) => throw new NotImplementedException();

    public void Dispose() => throw new NotImplementedException();
}
