using PaymentGateway.Operator.Dashboard;

namespace PaymentGateway.Tests.Operator.Dashboard;

public sealed class OverviewBuilderTests
{
    private const int Epoch = 7;
    private static readonly DateTime Now = new(2026, 11, 23, 13, 50, 1, DateTimeKind.Utc);
    private static readonly LaneReading Idle = new("default", "closed", "usable", 0, 0, 0, [0, 0, 0]);
    private static readonly LaneReading IdleFallback = Idle with { Name = "fallback" };

    private static readonly InstanceReading Own = new(
        "api1", true, 10, 8, 3, 0.5, false, 1, 40_000_000, 10, [4, 0, 0],
        [Idle with { Calls = [2, 0, 0] }, IdleFallback]);

    private readonly OverviewBuilder _making = new(
        TestSettings.Read(("Gateway:Instance:Name", "api1")), Identity: "host/api1", Bounds: [0.001, 0.002]);

    [Fact]
    public void What_both_instances_say_is_added_and_their_durations_are_of_one_histogram()
    {
        var other = Own with { AcceptedPerSecond = 5, OldestSeconds = 9, HasOverflow = true, Accepts = [0, 4, 0] };

        var view = Make(Row("api2", 8, 0.2, other));

        Assert.Equal((15, 16), (view.AcceptedPerSecond, view.SettledPerSecond));
        Assert.Equal(new BacklogView(6, true, 9), view.Backlog);
        Assert.Equal(2, view.InDoubt);
        Assert.Equal(1.0, view.Accepts.P50!.Value, precision: 6);
        Assert.Equal(["api1", "api2"], view.Instances.Select(instance => instance.Reading.Name));
        Assert.Equal(0.4, view.Processors[0].CallsPerSecond);
    }

    [Fact]
    public void An_instance_whose_lease_has_expired_is_silent_and_does_not_count()
    {
        Assert.False(Make(Row("api2", 8, 2.9, Own)).Instances[1].IsSilent);

        var view = Make(Row("api2", 8, 3.1, Own));

        Assert.True(view.Instances[1].IsSilent);
        Assert.Equal(10, view.AcceptedPerSecond);
    }

    [Fact]
    public void Of_an_instance_that_has_begun_anew_only_the_new_epoch_is_shown_and_counts()
    {
        // The older epochs ended long ago and just now.
        var view = Make(
            Row("api1", Epoch, 0, Own), Row("api1", 6, 5, Own), Row("api2", 8, 0.5, Own), Row("api2", 9, 0.1, Own));

        Assert.Equal(
            [("api1", 7, false), ("api2", 9, false)],
            view.Instances.Select(one => (one.Reading.Name, one.Epoch, one.IsSilent)));
        Assert.Equal(20, view.AcceptedPerSecond);
        Assert.Equal(2, view.InDoubt);
    }

    [Fact]
    public void Instances_of_one_name_are_both_shown()
    {
        var view = Make(
            Row("api1", Epoch, 0, Own), Row("api1", 6, 5, Own),
            Row("api1", 8, 0.1, Own) with { Instance = "host/8.sock" },
            Row("api1", 9, 0.1, Own) with { Instance = "other/8.sock" });

        Assert.Equal(
            [("api1", 7), ("api1", 8), ("api1", 9)], view.Instances.Select(one => (one.Reading.Name, one.Epoch)));
        Assert.Equal(30, view.AcceptedPerSecond);
    }

    [Fact]
    public void Calls_are_counted_over_the_time_that_they_were_measured_for()
    {
        var begun = Own with { WindowSeconds = 2 };

        var view = Make(Row("api2", 8, 0.1, begun));

        Assert.Equal(0.2 + 1, view.Processors[0].CallsPerSecond);
    }

    [Fact]
    public void What_calling_instances_find_out_counts_and_not_what_an_idle_one_remembers()
    {
        var open = Own with { Lanes = [new("default", "open", "unusable", 0.5, 4, 0, [0, 0, 0]), IdleFallback] };
        Assert.Equal("closed", Make(Row("api2", 8, 0.1, open)).Processors[0].Circuit);

        var calling = open with { Lanes = [open.Lanes[0] with { Calls = [0, 1, 0] }, IdleFallback] };

        var seen = Make(Row("api2", 8, 0.1, calling)).Processors[0];
        Assert.Equal(("open", "unusable"), (seen.Circuit, seen.Availability));
        Assert.Equal((500, 4), (seen.ExpectedMilliseconds, seen.InFlight));
        Assert.Equal("usable", Make(Row("api2", 8, 0.1, calling)).Processors[1].Availability);
    }

    [Fact]
    public void Without_the_database_the_instance_that_answers_is_shown_alone()
    {
        var view = _making.Make(Now, Epoch, Own, isReset: false, shared: null);

        Assert.False(view.Database);
        Assert.Equal("api1", Assert.Single(view.Instances).Reading.Name);
        Assert.Null(view.Parked);
        Assert.All(view.Processors, processor => Assert.True(processor is { Settled: null, Report: null }));
    }

    [Fact]
    public void Money_has_two_decimals_and_fees_are_those_of_the_settings()
    {
        var shared = new SharedFacts(
            [], [new TotalsRow("default", 3, 123_456_789_012_345_678m), new TotalsRow("fallback", 1, 1_990)],
            [new HealthRow("default", true, 30, 2.5), new HealthRow("fallback", false, 0, 1e9)],
            [new ParkedCountRow("fallback answered 400", 2), new ParkedCountRow("default answered 400", 5)],
            [
                new WebhookRow("shop", null, 2, Now, "status 500", Now, 1.5),
                new WebhookRow("well", "", 0, null, null, null, null),
            ]);

        var view = _making.Make(Now, Epoch, Own, isReset: true, shared);

        Assert.Equal(
            new SettledView(3, "1234567890123456.78", "61728394506172.84", 0.05m), view.Processors[0].Settled);
        Assert.Equal("2.99", view.Processors[1].Settled!.Fees);
        Assert.Equal((shared.Reports[0], false), (view.Processors[0].Report, view.Processors[0].ReportIsOverdue));
        Assert.Null(view.Processors[1].Report);
        Assert.Equal((7, false), (view.Parked!.Payments, view.Parked.IsMore));
        Assert.Equal("default answered 400", view.Parked.Reasons[0].Reason);
        Assert.True(view.LedgerReset);
        Assert.Equal([new WebhookView("shop", 1.5, "status 500")], view.FailingWebhooks);
        Assert.True(_making.Make(Now, Epoch, Own, isReset: true, shared with
        {
            Parked = [new ParkedCountRow("default answered 400", ParkedCount.CountMax)],
        }).Parked!.IsMore);
    }

    [Fact]
    public void An_overdue_report_is_marked_and_the_state_unknown_is_worse_than_usable()
    {
        var unsure = Own with { Lanes = [Own.Lanes[0], IdleFallback with { Availability = "unknown" }] };
        var shared = new SharedFacts(
            [Row("api2", 8, 0.1, unsure)], [],
            [new HealthRow("default", false, 0, 10.3), new HealthRow("fallback", false, 0, 10.4)], [], []);

        var view = _making.Make(Now, Epoch, Own, isReset: false, shared);

        Assert.Equal([false, true], view.Processors.Select(processor => processor.ReportIsOverdue));
        Assert.Equal(["usable", "unknown"], view.Processors.Select(processor => processor.Availability));
    }

    [Fact]
    public void A_processor_whose_look_ups_one_instance_cannot_read_is_marked()
    {
        var unsure = Own with { Lanes = [Own.Lanes[0], IdleFallback with { Unreadable = true }] };

        Assert.Equal(
            [false, true], Make(Row("api2", 8, 0.1, unsure)).Processors.Select(processor => processor.Unreadable));
    }

    // An instance of another version may say nothing of it.
    [Fact]
    public void A_reading_without_the_mark_of_unreadable_look_ups_is_shown()
    {
        var reading = Own.ToJson().Replace(",\"unreadable\":false", "", StringComparison.Ordinal);
        Assert.NotEqual(Own.ToJson(), reading);

        Assert.Equal(2, Make(new ReadingRow(8, "host/api2", reading, 0.1)).Instances.Length);
    }

    [Theory]
    [InlineData("", "none")]
    [InlineData("", "null")]
    [InlineData("\"lanes\":", "\"lines\":")]
    [InlineData("\"lanes\":[", "\"lanes\":[null,null],\"others\":[")]
    [InlineData("\"calls\":", "\"others\":")]
    [InlineData("\"circuit\":", "\"others\":")]
    [InlineData("\"accepts\":", "\"others\":")]
    [InlineData("\"name\":", "\"others\":")]
    [InlineData("\"windowSeconds\":10", "\"windowSeconds\":0")]
    [InlineData("\"acceptedPerSecond\":10", "\"acceptedPerSecond\":1e999")]
    [InlineData("\"expectedSeconds\":0", "\"expectedSeconds\":1e999")]
    public void A_reading_that_cannot_be_shown_is_left_out(string part, string instead)
    {
        var whole = Own.ToJson();
        var reading = part.Length == 0 ? instead : whole.Replace(part, instead, StringComparison.Ordinal);
        Assert.NotEqual(whole, reading);

        var view = Make(new ReadingRow(8, "host/api2", reading, 0.1));

        Assert.Single(view.Instances);
        Assert.Equal(10, view.AcceptedPerSecond);
    }

    private static ReadingRow Row(string instance, int epoch, double age, InstanceReading reading) =>
        new(epoch, "host/" + instance, (reading with { Name = instance }).ToJson(), age);

    private Overview Make(params ReadingRow[] rows) =>
        _making.Make(Now, Epoch, Own, isReset: false, new SharedFacts([.. rows], [], [], [], []));
}
