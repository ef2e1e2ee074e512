using PaymentGateway.Storage;

namespace PaymentGateway.Leasing;

/// <summary>Opens, renews and releases this instance's epochs in the database.</summary>
internal sealed class InstanceEpochs(
    LeaseStore leases, DoubtStore doubts, PayerStore payers, InstanceLock instance, Lease lease, GatewayOptions options)
{
    /// <summary>The processors that a new epoch may use at once: the cheapest one.</summary>
    public ProcessorSet First => ProcessorSet.Of(options.Processors.Enabled[0].Processor);

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
        await RefuseOthersAsync(Owners.Nobody, urls, processors);
        await RegisterAsync();
        await RegisterPayersAsync();
        var epoch = await leases.OpenAsync(
            new OpenLeaseArgs(instance.Identity, options.Leasing.LeaseDuration, processors, First.Bits));
        // Again after the commit, so that of two instances that start at once at least one finds the other.
        await RefuseOthersAsync(epoch, urls, processors);
        return epoch;
    }

    /// <summary>
    /// Gives the payers their numbers, which a failover to an asynchronous standby may have lost: an epoch that was
    /// there before them goes on. Until then, about one interval of renewals, payments may have the former numbers.
    /// </summary>
    public Task RegisterPayersAsync() => payers.RegisterAsync();

    /// <summary>Whether another instance has closed it.</summary>
    public Task<bool> IsClosedAsync(Epoch epoch) => leases.IsClosedAsync(epoch.Number);

    private async Task RefuseOthersAsync(int epoch, List<string> urls, string processors)
    {
        var other = await leases.FindOtherProcessorsAsync(
            new OtherProcessorsArgs(epoch, instance.ProvenTerminated, processors));
        if (other is null)
            return;

        if (epoch != Owners.Nobody)
            await leases.CloseAsync(epoch);
        var others = other.Processors.Split(' ');
        var parts = urls.Except(others).Concat(others.Except(urls)).Append(urls[0]).First().Split('=', 2);
        throw SettingsReader.Wrong(
            $"Gateway:Processors:{parts[0]}:BaseUrl",
            $"{parts[1]} is not named by both: this instance has {processors}, and {other.Instance} runs on this "
                + $"ledger with {other.Processors} (stop all instances before a change)");
    }

    /// <summary>
    /// Renews the current epoch, and closes this instance's former ones and those of others that have expired.
    /// </summary>
    /// <param name="askedAt">A monotonic timestamp from before this call.</param>
    /// <param name="closeExpired">Whether expired leases of others are closed.</param>
    /// <returns>Null where nothing was sent, because the epoch is spoiled.</returns>
    public async Task<Renewal?> RenewAsync(long askedAt, bool closeExpired)
    {
        var epoch = lease.Current;
        // The number is read before the mark, so that a later adoption has a newer number. Whether the epoch is spoiled
        // is read after the mark, because an INSERT or an adoption that breaks spoils the epoch before its times leave
        // the mark.
        var number = epoch.NextRenewal();
        var lowWaterMark = epoch.ReadLowWaterMark();
        var used = epoch.Wanted;
        if (epoch.IsSpoiled)
            return null;

        var former = lease.Former.Keys.ToArray();
        var row = await leases.RenewAsync(new RenewalArgs(
            epoch.Number, options.Leasing.LeaseDuration, lowWaterMark, number, instance.ProvenTerminated, closeExpired,
            former, used.Bits));
        if (row.Renewed)
        {
            lease.NoteRenewed(epoch, askedAt);
            epoch.NoteStored(used);
        }

        return new Renewal(epoch, row, former);
    }

    /// <summary>Ends and closes the epoch, and releases its unsettled payments.</summary>
    /// <returns>How many were released, and how many of them in doubt.</returns>
    public async Task<(int Released, int InDoubt)> ReleaseAsync(Epoch epoch)
    {
        var lowWaterMark = epoch.ReadLowWaterMark();
        // Doubts are read after the end, because no charge begins any more.
        epoch.End();
        var held = epoch.Unsettled.Snapshot();
        var inDoubt = held.Where(payment => payment.MayBeStored || payment.Phase == PaymentPhase.Broken)
            .Select(payment => payment.Id).ToArray();
        // A charge that ended a moment ago may have brought a 422 that is not stored yet.
        if (held.FindAll(payment => payment.IsHeld) is { Count: > 0 } byProcessors)
            await doubts.HoldAsync(HoldArgs.Of([.. byProcessors]));
        return (await leases.ReleaseAsync(new ReleaseArgs(epoch.Number, lowWaterMark, inDoubt)), inDoubt.Length);
    }

    private async Task RegisterAsync()
    {
        var rows = await leases.RegisterAsync(options.Processors.Names);
        foreach (var processor in options.Processors.All.Select(one => one.Processor))
            processor.Id = rows.Find(row => row.Name == processor.Name)?.Id ?? throw new ConfigurationException(
                "Gateway__Processors", $"has {processor}, and the ledger has numbers for {rows.Count} names only");
    }
}

/// <summary>
/// The answer to a renewal. Former: the numbers of the former epochs that it was to close. It passes one by whose lease
/// is locked, and a later renewal closes that.
/// </summary>
internal sealed record Renewal(Epoch Epoch, RenewalRow Row, int[] Former);
