using System.Globalization;

namespace PaymentGateway.Tools.Limiting;

/// <summary>Version 1: CPU is limited, memory only measured.</summary>
internal sealed class ControlGroupsOne(string cpuRoot, string accountingRoot) : ControlGroups
{
    public override string Remark => "version 1 of the cgroups: memory is measured, not limited";

    public override bool LimitsMemory => false;

    public override void Enable(LimitState state)
    {
        // Each controller has a tree of its own.
    }

    public override PartGroup Make(string name, PartShare? share, LimitState state)
    {
        var group = MakeGroup(cpuRoot, name, state);
        // The two may be one mount.
        var accounting = Path.Combine(accountingRoot, name);
        if (!Directory.Exists(accounting))
            MakeGroup(accountingRoot, name, state);
        if (share is not null)
        {
            Write(group, "cpu.cfs_period_us", Period.ToString(CultureInfo.InvariantCulture));
            Write(group, "cpu.cfs_quota_us", ((int)(share.Cpus * Period)).ToString(CultureInfo.InvariantCulture));
        }
        else
        {
            Write(group, "cpu.shares", "256");
        }

        return new PartGroup([group, accounting], Path.Combine(accounting, "cpuacct.usage"));
    }

    public override void Disable(string controller)
    {
    }
}
