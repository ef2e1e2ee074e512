namespace PaymentGateway.Hosting.Telemetry;

/// <summary>Prometheus' text format, version 0.0.4, with names as OpenTelemetry translates them.</summary>
internal static class PrometheusText
{
    public const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    public static string Write(IEnumerable<MeasuredInstrument> instruments)
    {
        var text = new StringBuilder(16 * 1024);
        foreach (var instrument in instruments.Where(one => one.Series.Count > 0))
        {
            var name = NameOf(instrument);
            text.Append(CultureInfo.InvariantCulture, $"# HELP {name} {instrument.Instrument.Description}\n");
            text.Append(CultureInfo.InvariantCulture, $"# TYPE {name} {instrument.Type}\n");
            foreach (var series in instrument.Series)
                WriteSeries(text, name, instrument.Bounds, series);
        }

        return text.ToString();
    }

    // Such as payment_gateway_store_duration_seconds.
    private static string NameOf(MeasuredInstrument instrument)
    {
        var name = Plain(instrument.Instrument.Name) + instrument.Instrument.Unit switch
        {
            "s" => "_seconds",
            "By" => "_bytes",
            _ => "",
        };
        return instrument.Type == "counter" ? name + "_total" : name;
    }

    private static void WriteSeries(StringBuilder text, string name, double[] bounds, MeasuredSeries series)
    {
        var (sum, counts) = series.Read();
        // No value needs an escape: all are words or numbers of our own and Npgsql's code.
        var labels = Array.ConvertAll(series.Tags, tag => $"{Plain(tag.Key)}=\"{tag.Value}\"");
        if (bounds.Length == 0)
        {
            WriteLine(text, name, labels, sum);
            return;
        }

        long all = 0;
        for (var i = 0; i < counts.Length; i++)
        {
            all += counts[i];
            var bound = i < bounds.Length ? bounds[i].ToString(CultureInfo.InvariantCulture) : "+Inf";
            WriteLine(text, name + "_bucket", [.. labels, $"le=\"{bound}\""], all);
        }

        WriteLine(text, name + "_sum", labels, sum);
        WriteLine(text, name + "_count", labels, all);
    }

    private static void WriteLine(StringBuilder text, string name, string[] labels, double value) => text.Append(
        CultureInfo.InvariantCulture,
        $"{name}{(labels.Length > 0 ? $"{{{string.Join(',', labels)}}}" : "")} {value}\n");

    private static string Plain(string name) => name.Replace('.', '_');
}
