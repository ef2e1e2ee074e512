using System.Globalization;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Limiting;

/// <summary>Running parts under the shares of docker-compose.yml, until it is disposed.</summary>
public sealed class PartLimits : IDisposable
{
    // In the order of a payment; the simulators have no share and come after all others.
    private static readonly string[] Order = [.. PartNames.Counted, PartNames.Default, PartNames.Fallback];

    private readonly ControlGroups _machine = ControlGroups.Find(File.ReadLines("/proc/mounts"));
    private readonly Dictionary<string, PartGroup> _groups = [];
    private readonly List<string> _lines = [];

    private PartLimits()
    {
    }

    /// <summary>Where each part's CPU time is counted, as the load tests take it: nginx=/sys/…,api1=/sys/…</summary>
    public string CpuFiles => string.Join(',', _groups.Select(one => $"{one.Key}={one.Value.CpuFile}"));

    /// <summary>A line for each part and what it got.</summary>
    public IReadOnlyList<string> Lines => _lines;

    /// <param name="pids">The first process of each part: all of its processes are moved.</param>
    /// <exception cref="ToolException">The machine does not let us; nothing is left behind.</exception>
    public static PartLimits Put(IReadOnlyDictionary<string, int> pids)
    {
        if (!Environment.IsPrivilegedProcess)
            throw new ToolException("LIMITS: only root may make cgroups; without LIMITS=1 it runs unlimited");
        var shares = ComposeSplit.Read();
        var limits = new PartLimits();
        try
        {
            limits.PutAll(shares, pids);
            return limits;
        }
        catch
        {
            limits.Dispose();
            throw;
        }
    }

    /// <summary>The CPU time a part has used since it was put here.</summary>
    public long CpuMilliseconds(string part) => ControlGroups.ReadCpuMilliseconds(_groups[part].CpuFile);

    public void Dispose() => _machine.Dispose();

    private void PutAll(IReadOnlyDictionary<string, PartShare> shares, IReadOnlyDictionary<string, int> pids)
    {
        var tag = string.Create(CultureInfo.InvariantCulture, $"payment-gateway.{Guid.NewGuid():N}");
        foreach (var part in Order.Where(pids.ContainsKey))
        {
            var share = shares.GetValueOrDefault(part);
            _groups[part] = _machine.Make($"{tag[..28]}.{part}", share);
            MoveIn(part, pids[part]);
            _lines.Add(Line(part, share));
        }

        if (!_machine.LimitsMemory)
            _lines.Add("version 1 of the cgroups: memory is measured, not limited");
    }

    private string Line(string part, PartShare? share) => share switch
    {
        null => $"{part}: low weight",
        _ when _machine.LimitsMemory => FormattableString.Invariant(
            $"{part}: {share.Cpus} CPU, {share.MemoryMegabytes} MB"),
        _ => FormattableString.Invariant($"{part}: {share.Cpus} CPU"),
    };

    // A second pass catches what was forked during the first; what is forked afterwards starts inside.
    private void MoveIn(string part, int first)
    {
        for (var round = 0; round < 2; round++)
            foreach (var pid in ProcessTree.Of(first))
                foreach (var group in _groups[part].Directories)
                    Move(pid, part, group);
    }

    private static void Move(int pid, string part, string group)
    {
        try
        {
            File.WriteAllText(Path.Combine(group, "cgroup.procs"), pid.ToString(CultureInfo.InvariantCulture));
        }
        catch (IOException) when (ProcessStatus.Read(pid) is null)
        {
            // It has ended.
        }
        catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
        {
            throw new ToolException($"LIMITS: process {pid} of {part} cannot be put into {group}. "
                + "It takes root on the machine itself, not in a container");
        }
    }
}
