namespace PaymentGateway.Tests.Simulation;

/// <content>The statements of the instances, one by one.</content>
internal sealed partial class SimulatedCluster
{
    private DatabaseLink? _held, _delayed;
    private TimeSpan _holdFor, _delayFor;

    private bool ExecuteNext()
    {
        var waiting = Living().Where(one => !one.IsStalled)
            .SelectMany(one => one.Links.Select(link => (Of: one, Link: link)))
            .Where(one => one.Link is { IsWaiting: true, IsSlow: false })
            .OrderBy(one => one.Of.Who).ThenBy(one => one.Link.Sql).ThenBy(one => one.Link.Number).ToList();
        if (waiting.Count == 0)
            return false;

        var (instance, link) = waiting[_random.Next(waiting.Count)];
        var name = StatementNames.Of(link.Sql);
        Reach(instance, name);
        // Both store payments.
        if (name == StatementNames.InsertOne)
            Reach(instance, StatementNames.Insert);
        if (!link.IsClosed && !link.WasSlow && IsSlow())
        {
            link.WasSlow = link.IsSlow = true;
            Network.After(TimeSpan.FromMilliseconds(_random.Next(1, 200)), () => link.IsSlow = false);
            return true;
        }

        // It was killed or cut off; what it had sent may be executed all the same.
        if (link.IsClosed)
            return true;

        if (_delayFor > TimeSpan.Zero)
        {
            (_delayed, link.IsSlow, link.WasSlow, link.IsDelayed) = (link, true, true, true);
            Network.After(_delayFor, () => EndDelay(isLost: false, link));
            // Npgsql gives up by real time, which stands still here; a batch does so after Command Timeout.
            Network.After(TimeSpan.FromSeconds(_random.Next(2) == 0 ? 2 : 60), link.DisposeIfDelayed);
            // The rest of its turn waits for this statement, the look for a purge too.
            instance.DisturbedAt = instance.ShakenAt = _disturbedAt = Time.Now + _delayFor;
            _delayFor = TimeSpan.Zero;
            return true;
        }

        if (_holdFor > TimeSpan.Zero && name is StatementNames.Insert or StatementNames.InsertOne && _held is null)
        {
            var held = _held = link;
            link.Execute(commits: false);
            if (_random.Next(2) == 0)
                link.Dispose();
            Network.After(_holdFor, () => Commit(held));
            _holdFor = TimeSpan.Zero;
            return true;
        }

        ExecuteNow(instance, link, name);
        Reach(instance, name + StatementNames.Answered);
        if (name == StatementNames.InsertOne)
            Reach(instance, StatementNames.Inserted);
        link.Deliver();
        return true;
    }

    private void ExecuteNow(SimulatedInstance instance, DatabaseLink link, string name)
    {
        var isPurge = link.Sql.Contains("TRUNCATE", StringComparison.Ordinal);
        var removes = isPurge || name == StatementNames.Retention;
        var before = removes || name is StatementNames.Adopt or StatementNames.Write ? Rows() : [];
        // A reconciliation begins at the oldest acceptance or at a crash. A charge may have an earlier time after a
        // clock was ahead, or when a crash came meanwhile.
        var isLost = _loses && name == StatementNames.Write && !_wasAhead && _crashedAt == TimeSpan.Zero;
        if (name.Length > 0)
            Marks.Reach(name);
        link.Execute(commits: !isLost);
        if (isLost)
        {
            link.End(commits: false);
            (_loses, _hasLost) = (false, true);
            Disturb(null);
        }

        if (removes)
            OnRemoved(before, isPurge);
        else if (before.Count > 0)
            MarkMoves(instance, before, Rows());
        if (name == StatementNames.BacklogPage && link.RowsAnswered == Knobs.BacklogPage)
            Marks.Reach("a page of the backlog is full");
        if (name == StatementNames.Renew && instance.Actor.IsFrozen)
            Marks.Reach("a renewal is stored while its instance is frozen");
    }

    private void MarkMoves(SimulatedInstance instance, List<Row> before, List<Row> after)
    {
        var was = before.ToDictionary(row => row.Id);
        var moved = after.FindAll(row => was.TryGetValue(row.Id, out var then) && then.Owner != row.Owner);
        if (moved.Count == Knobs.AdoptionPage)
            Marks.Reach("a page of an adoption is full");
        if (moved.Exists(row => was[row.Id].MayBeAt > 0 && was[row.Id].Owner > 0))
            Marks.Reach("what was adopted is adopted from its adopter");
        foreach (var row in after.Where(row => row.Settlement is not null && row.Owner > 0
            && was.TryGetValue(row.Id, out var then) && then.Settlement is null
            && row.Owner != instance.Epoch.Number))
            Marks.Reach("a former owner records an outcome");
    }

    private void Commit(DatabaseLink held)
    {
        held.End();
        held.Deliver();
        _held = null;
    }

    private void EndDelay(bool isLost, DatabaseLink? link = null)
    {
        if (_delayed is null || (link ?? _delayed) != _delayed)
            return;

        _delayed.EndDelay(isLost);
        _delayed = null;
    }
}
