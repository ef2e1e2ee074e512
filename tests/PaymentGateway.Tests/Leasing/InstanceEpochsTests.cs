namespace PaymentGateway.Tests.Leasing;

/// <summary>Instances of one ledger name the same processors.</summary>
public sealed class InstanceEpochsTests : OwnDatabase
{
    private const string DefaultKey = "Gateway:Processors:Default:BaseUrl";
    private const string FallbackKey = "Gateway:Processors:Fallback:BaseUrl";
    private const string Default = "http://default.example/";
    private const string Fallback = "http://fallback.example/";
    private const string Both = $"default={Default} fallback={Fallback}";

    private static readonly TimeSpan Minute = TimeSpan.FromMinutes(1);

    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("opening");

    public override async Task DisposeAsync()
    {
        await base.DisposeAsync();
        _directory.Delete(recursive: true);
    }

    [PostgresTheory]
    [InlineData(DefaultKey)]
    [InlineData(FallbackKey)]
    public async Task An_instance_that_names_another_processor_than_a_running_one_is_refused_by_name(string key)
    {
        var running = await OpenAsync("running");
        await using var stages = Build((key, "http://another.example"));

        var wrong = await Assert.ThrowsAsync<ConfigurationException>(
            () => stages.StartAsync<LeaseKeeper>().WaitAsync(Minute));

        Assert.StartsWith(
            key.Replace(":", "__", StringComparison.Ordinal) + ": http://another.example/ is not named by both",
            wrong.Message, StringComparison.OrdinalIgnoreCase);
        Assert.Contains("and running runs on this ledger", wrong.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', wrong.Message);
        Assert.Equal(
            running, await Database.ScalarAsync<int>("SELECT max(epoch) FROM leases WHERE closed_at IS NULL"));
    }

    [PostgresTheory]
    [InlineData("the same", "http://default.EXAMPLE:80", null)]
    [InlineData("expired", "http://another.example", "expires_at = now()")]
    [InlineData("stopped", "http://another.example", "closed_at = now()")]
    public async Task Beside_an_instance_that_is_the_same_or_gone_an_epoch_begins(
        string instance, string url, string? change)
    {
        await OpenAsync(instance);
        if (change is not null)
            await Database.ExecuteAsync($"UPDATE leases SET {change} WHERE epoch <> 0");
        await using var stages = Build((DefaultKey, url));

        Assert.True(await stages.Part<InstanceEpochs>().OpenAsync() > 0);
    }

    [PostgresFact]
    public async Task A_process_that_is_proven_to_be_gone_does_not_keep_its_successor_from_another_processor()
    {
        await using var stages = Build(
            $"http://unix:{_directory.FullName}/api.sock", (DefaultKey, "http://another.example"));
        await OpenAsync(stages.Part<InstanceLock>().Identity);

        Assert.True(await stages.Part<InstanceEpochs>().OpenAsync() > 0);
    }

    [PostgresFact]
    public async Task Of_two_that_begin_at_once_with_different_processors_at_most_one_goes_on()
    {
        await using var one = Build();
        await using var other = Build((FallbackKey, "http://another.example"));
        for (var round = 0; round < 30; round++)
        {
            var begun = await Task.WhenAll(BeginsAsync(one), BeginsAsync(other));

            Assert.False(begun[0] && begun[1], $"both began in round {round}");
            await Database.ExecuteAsync("UPDATE leases SET closed_at = now() WHERE closed_at IS NULL");
        }
    }

    [PostgresFact]
    public async Task The_urls_of_the_processors_are_in_the_lease()
    {
        await using var stages = Build();

        var epoch = await stages.Part<InstanceEpochs>().OpenAsync();

        Assert.Equal(Both, await Database.LeaseAsync<string>(epoch, "processors"));
    }

    [PostgresFact]
    public async Task A_third_processor_is_refused_beside_an_instance_that_does_not_name_it()
    {
        await OpenAsync("running");
        await using var stages = Build(
            ("Gateway:Processors:third:BaseUrl", "http://third.example"), ("Gateway:Processors:third:Fee", "0.3"));

        var wrong = await Assert.ThrowsAsync<ConfigurationException>(stages.Part<InstanceEpochs>().OpenAsync);

        Assert.StartsWith("Gateway__Processors__third__BaseUrl: ", wrong.Message, StringComparison.Ordinal);
        // A misspelt name takes no number.
        Assert.Equal(2, await Database.ScalarAsync<long>("SELECT count(*) FROM processors"));
    }

    [PostgresFact]
    public async Task A_name_keeps_its_number_and_a_new_one_gets_the_next()
    {
        (string, string?)[] third =
            [("Gateway:Processors:third:BaseUrl", "http://third.example"), ("Gateway:Processors:third:Fee", "0.01")];
        await using var one = Build(third);
        await using var other = Build(third);

        // At once, so that one of them finds the number taken.
        await Task.WhenAll(
            Task.Run(one.Part<InstanceEpochs>().OpenAsync), Task.Run(other.Part<InstanceEpochs>().OpenAsync));

        foreach (var stages in new[] { one, other })
            Assert.Equal(
                [("third", 3), ("default", 1), ("fallback", 2)],
                stages.Part<GatewayOptions>().Processors.All.Select(
                    processor => (processor.Processor.Name, (int)processor.Processor.Id)));
        Assert.Equal(3, await Database.ScalarAsync<long>("SELECT count(*) FROM processor_health"));
    }

    [PostgresFact]
    public async Task A_ledger_without_a_number_left_is_refused_by_name()
    {
        await Database.ExecuteAsync(
            "INSERT INTO processors (id, name) SELECT id, 'former' || id FROM generate_series(3, 14) AS id");
        await using var stages = Build(
            ("Gateway:Processors:third:BaseUrl", "http://third.example"), ("Gateway:Processors:third:Fee", "0.01"));

        var wrong = await Assert.ThrowsAsync<ConfigurationException>(stages.Part<InstanceEpochs>().OpenAsync);

        Assert.StartsWith("Gateway__Processors: has third", wrong.Message, StringComparison.Ordinal);
    }

    private Stages Build(params (string Key, string? Value)[] settings) => Build(urls: null, settings);

    private Stages Build(string? urls, params (string Key, string? Value)[] settings) => Stages.Build(
        Database.ConnectionString, TimeProvider.System, urls,
        // The limit of a statement is a part of the lease, and nothing here waits for its end.
        [(DefaultKey, Default), (FallbackKey, Fallback), ("Gateway:Leasing:LeaseDuration", "30s"), .. settings]);

    private Task<int> OpenAsync(string instance) =>
        Database.Leases.OpenAsync(new OpenLeaseArgs(instance, Minute, Both));

    // On a thread of its own, so that both are on their way at once.
    private static Task<bool> BeginsAsync(Stages stages) => Task.Run(async () =>
    {
        try
        {
            return await stages.Part<InstanceEpochs>().OpenAsync() > 0;
        }
        catch (ConfigurationException)
        {
            return false;
        }
    });
}
