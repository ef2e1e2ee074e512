using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>Opens, renews, gives up and releases this instance's epochs.</summary>
internal sealed class InstanceEpochs(
    LeaseStore leases, DoubtStore doubts, InstanceLock instance, Lease lease, LowWaterMark mark, StoredBacklog backlog,
    UnsettledPayments unsettled, GatewayOptions options)
{
    /// <summary>Begins an epoch, which may use the cheapest processor.</summary>
    /// <exception cref="ConfigurationException">
    /// An instance with a valid lease has other processors: an adopter repeats a charge, and only the same processor
    /// would store it once. Or the ledger has no number left for a name.
    /// </exception>
    public async Task<int> OpenAsync()
    {
        var urls = options.Processors.All.Select(one => $"{one.Processor}={one.Url.AbsoluteUri}")
            .Order(StringComparer.Ordinal).ToList();
        var processors = string.Join(' ', urls);
        // Checked before registering, otherwise a wrong name would get a number.
        await RefuseOthersAsync(PaymentStates.Nobody, urls, processors);
        await RegisterAsync();
        var used = ProcessorSet.Of(options.Processors.Enabled[0].Processor);
        var epoch = await leases.OpenAsync(
            new OpenLeaseArgs(instance.Identity, options.Leasing.LeaseDuration, processors, used.Bits));
        lease.Stored(epoch, used);
        // Again after the commit, so that of two instances that start at once at least one finds the other.
        await RefuseOthersAsync(epoch, urls, processors);
        return epoch;
    }

    private async Task RefuseOthersAsync(int epoch, List<string> urls, string processors)
    {
        var other = await leases.FindOtherProcessorsAsync(
            new OtherProcessorsArgs(epoch, instance.ProvenTerminated, processors));
        if (other is null)
            return;

        if (epoch != PaymentStates.Nobody)
            await leases.CloseAsync(epoch);
        var others = other.Processors.Split(' ');
        var parts = urls.Except(others).Concat(others.Except(urls)).Append(urls[0]).First().Split('=', 2);
        throw SettingsReader.Wrong(
            $"Gateway:Processors:{parts[0]}:BaseUrl",
            $"{parts[1]} is not named by both: this instance has {processors}, and {other.Instance} runs on this "
                + $"ledger with {other.Processors} (stop all instances before a change)");
    }

    /// <param name="askedAt">A monotonic timestamp from before this call.</param>
    /// <param name="closeExpired">Whether expired leases of others are closed.</param>
    public async Task<Renewal> RenewAsync(long askedAt, bool closeExpired)
    {
        var uncertainUntil = backlog.UncertainUntil();
        // The number is read before the mark, so that a later adoption has a newer number. The epoch is read after the
        // mark, because an adoption without an answer loses its epoch before it clears the mark.
        var number = lease.NextNumber();
        var lowWaterMark = mark.Read();
        var used = lease.Wanted;
        var epoch = lease.Epoch;
        var row = await leases.RenewAsync(new RenewalArgs(
            epoch, options.Leasing.LeaseDuration, lowWaterMark, uncertainUntil ?? DateTime.UnixEpoch, number,
            instance.ProvenTerminated, closeExpired, used.Bits));
        if (row.Renewed)
        {
            lease.Renewed(askedAt);
            lease.Stored(epoch, used);
        }

        return new Renewal(epoch, row, uncertainUntil);
    }

    /// <summary>
    /// Drops a closed epoch's payments for its adopter; returns their number. Outcomes of calls in flight are still
    /// recorded.
    /// </summary>
    public int GiveUp(int epoch)
    {
        lease.Lose(epoch);
        backlog.Clear();
        return unsettled.Count;
    }

    /// <summary>Closes the epoch and releases what it has not settled; returns the numbers of payments.</summary>
    public async Task<(int Released, int InDoubt)> ReleaseAsync(int epoch)
    {
        // List the payments before the lease is lost, because stages drop them afterwards. Read their doubts after it,
        // because no charge begins any more.
        var held = unsettled.Snapshot();
        var lowWaterMark = mark.Read();
        lease.Lose(epoch);
        var inDoubt = held.Where(payment => payment.InDoubt || payment.Phase == PaymentPhase.Broken)
            .Select(payment => payment.Id).ToArray();
        // A charge that ended a moment ago may have brought a 422 that is not stored yet.
        if (held.FindAll(payment => payment.IsHeld) is { Count: > 0 } byProcessors)
            await doubts.HoldAsync(HoldArgs.Of([.. byProcessors]));
        return (await leases.ReleaseAsync(new ReleaseArgs(epoch, lowWaterMark, inDoubt)), inDoubt.Length);
    }

    private async Task RegisterAsync()
    {
        var rows = await leases.RegisterAsync(options.Processors.Names);
        foreach (var processor in options.Processors.All.Select(one => one.Processor))
            processor.Id = rows.Find(row => row.Name == processor.Name)?.Id ?? throw new ConfigurationException(
                "Gateway__Processors", $"has {processor}, and the ledger has numbers for {rows.Count} names only");
    }
}

/// <summary>The answer to a renewal of Epoch. Acceptances up to RefusedUntil (UTC) are refused; null is none.</summary>
internal sealed record Renewal(int Epoch, RenewalRow Row, DateTime? RefusedUntil);
