namespace PaymentGateway.Tools.Running;

/// <summary>A process with all that it has forked, and they in turn.</summary>
public static class ProcessTree
{
    /// <summary>The process itself comes first.</summary>
    public static IReadOnlyList<int> Of(int pid)
    {
        var children = ProcessStatus.All().ToLookup(status => status.Parent, status => status.Pid);
        var tree = new List<int> { pid };
        for (var at = 0; at < tree.Count; at++)
            tree.AddRange(children[tree[at]]);
        return tree;
    }

    /// <summary>Those that it has forked itself.</summary>
    public static IReadOnlyList<int> ChildrenOf(int pid) =>
        ProcessStatus.All().Where(status => status.Parent == pid).Select(status => status.Pid).ToList();
}
