using System.Diagnostics.Metrics;

namespace PaymentGateway.Tests.Hosting.Telemetry;

public sealed class MetricsPageTests : OwnRig
{
    private const string Prefix = "payment_gateway.";

    private readonly string[] _page = File.ReadAllLines(Repository.PathOf("docs", "metrics.md"));

    [PostgresFact]
    public async Task Every_instrument_has_its_row_and_there_is_no_other_and_every_value_of_a_tag_is_told()
    {
        var gateway = await Rig.StartGatewayAsync();
        await gateway.PayAsync();
        await Rig.LedgersReachAsync(byDefault: 1);
        var reader = gateway.Part<MetricListener>();
        reader.Write();

        var told = _page.Where(line => line.StartsWith("| `", StringComparison.Ordinal) && line.Split('|').Length == 7)
            .Order(StringComparer.Ordinal);

        // What Npgsql says of its own is longer than our rows.
        Assert.Equal(
            reader.Instruments.Select(RowOf).Order(StringComparer.Ordinal),
            told.Select(row => row.StartsWith("| `db.", StringComparison.Ordinal)
                ? row[..(row[..^2].LastIndexOf('|') + 1)]
                : row));
        var values = reader.Instruments.Where(one => one.Instrument.Meter.Name == GatewayMetrics.MeterName)
            .SelectMany(one => one.Series).SelectMany(series => series.Tags).Select(tag => $"`{tag.Value}`");

        var page = string.Join('\n', _page);
        Assert.All(values.Distinct(), value => Assert.Contains(value, page, StringComparison.Ordinal));
    }

    private static string RowOf(MeasuredInstrument measured)
    {
        var instrument = measured.Instrument;
        var kind = instrument is ObservableUpDownCounter<int> or ObservableUpDownCounter<long> or UpDownCounter<int>
            ? "up-down counter"
            : measured.Type;
        var tags = measured.Series.SelectMany(series => series.Tags).Select(tag => $"`{tag.Key}`").Distinct();
        var row = $"| `{instrument.Name.Replace(Prefix, "", StringComparison.Ordinal)}` | {kind} | {instrument.Unit} "
            + $"| {string.Join(", ", tags)} |";
        return instrument.Meter.Name == GatewayMetrics.MeterName ? $"{row} {instrument.Description} |" : row;
    }
}
