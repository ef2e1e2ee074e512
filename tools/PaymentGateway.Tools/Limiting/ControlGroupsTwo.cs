namespace PaymentGateway.Tools.Limiting;

/// <summary>Version 2: CPU and memory are limited.</summary>
internal sealed class ControlGroupsTwo : ControlGroups
{
    private static readonly string[] Needed = ["cpu", "memory"];

    private readonly string _root;

    public ControlGroupsTwo(string root)
    {
        _root = root;
        if (!Words("cgroup.controllers").Contains("cpu"))
            throw new ToolException($"LIMITS: the cpu controller is not available in {root}");
    }

    public override string? Remark => null;

    public override bool LimitsMemory => true;

    // Only what is not on yet, so that the machine is left as it was.
    public override void Enable(LimitState state)
    {
        var needed = Needed.Where(Words("cgroup.controllers").Contains);
        foreach (var controller in needed.Except(Words("cgroup.subtree_control")).ToList())
        {
            try
            {
                Write(_root, "cgroup.subtree_control", $"+{controller}");
            }
            catch (Exception refused) when (refused is IOException or UnauthorizedAccessException)
            {
                throw Refusal($"the {controller} controller cannot be passed on in {_root}");
            }

            state.AddController(controller);
        }
    }

    public override PartGroup Make(string name, PartShare? share, LimitState state)
    {
        var group = MakeGroup(_root, name, state);
        if (share is not null)
        {
            Write(group, "cpu.max", FormattableString.Invariant($"{(int)(share.Cpus * Period)} {Period}"));
            if (File.Exists(Path.Combine(group, "memory.max")))
                Write(group, "memory.max", FormattableString.Invariant(
                    $"{share.MemoryMegabytes * MemorySize.BytesPerMegabyte}"));
        }
        else
        {
            Write(group, "cpu.weight", "25");
        }

        return new PartGroup([group], Path.Combine(group, "cpu.stat"));
    }

    public override void Disable(string controller)
    {
        try
        {
            Write(_root, "cgroup.subtree_control", $"-{controller}");
        }
        catch (IOException)
        {
            // Somebody else has begun to use it.
        }
    }

    private string[] Words(string file) =>
        File.ReadAllText(Path.Combine(_root, file)).Split([' ', '\n'], StringSplitOptions.RemoveEmptyEntries);
}
