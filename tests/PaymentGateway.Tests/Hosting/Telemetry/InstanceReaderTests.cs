namespace PaymentGateway.Tests.Hosting.Telemetry;

public sealed class InstanceReaderTests : IAsyncLifetime
{
    private readonly FakeTimeProvider _clock = new();
    private readonly Stages _stages;
    private readonly InstanceReader _reader;
    private readonly GatewayMetrics _metrics;

    public InstanceReaderTests()
    {
        _stages = Stages.Build("Host=/nowhere", _clock, urls: null);
        (_reader, _metrics) = (_stages.Part<InstanceReader>(), _stages.Part<GatewayMetrics>());
    }

    public Task InitializeAsync() => Task.CompletedTask;

    public async Task DisposeAsync() => await _stages.DisposeAsync();

    [Fact]
    public void Rates_of_the_first_reading_are_zero_and_it_can_be_shown()
    {
        var first = _reader.Read();

        Assert.Equal((0, 0), (first.AcceptedPerSecond, first.SettledPerSecond));
        Assert.NotNull(InstanceReading.Parse(first.ToJson()));
    }

    [Fact]
    public void Rates_are_of_a_second_though_readings_follow_one_another_at_once()
    {
        _reader.Read();
        _metrics.Accepted.Add(10);
        Assert.Equal(10, ReadAfter(1_000).AcceptedPerSecond);
        _metrics.Accepted.Add(1);
        _metrics.AddSettled(Known.Default, payments: 21, cents: 1, savedCents: 0);

        var soon = ReadAfter(50);

        Assert.Equal((11 / 1.05, 20), (soon.AcceptedPerSecond, soon.SettledPerSecond));
        Assert.Equal(1, ReadAfter(950).AcceptedPerSecond);
    }

    [Fact]
    public void Durations_are_those_of_the_last_ten_seconds()
    {
        _reader.Read();
        _metrics.AcceptDuration.Record(0.002);
        InstanceReading reading = null!;
        for (var second = 1; second <= 10; second++)
            reading = ReadAfter(1_000);
        Assert.Equal((1, 10), (reading.Accepts.Sum(), reading.WindowSeconds));

        reading = ReadAfter(1_000);

        Assert.Equal((0, 10), (reading.Accepts.Sum(), reading.WindowSeconds));
    }

    private InstanceReading ReadAfter(int milliseconds)
    {
        _clock.Advance(TimeSpan.FromMilliseconds(milliseconds));
        return _reader.Read();
    }
}
