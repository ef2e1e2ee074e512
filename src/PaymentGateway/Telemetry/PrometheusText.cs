namespace PaymentGateway.Telemetry;

/// <summary>Prometheus' text format, version 0.0.4, with names as OpenTelemetry translates them.</summary>
internal static class PrometheusText
{
    public const string ContentType = "text/plain; version=0.0.4; charset=utf-8";

    /// <summary>Writes every series of every instrument.</summary>
    public static string Write(IEnumerable<MeasuredInstrument> instruments)
    {
        var text = new StringBuilder(16 * 1024);
        foreach (var instrument in instruments)
            Write(text, instrument);
        return text.ToString();
    }

    /// <summary>The name of an instrument here: payment_gateway_store_duration_seconds, say.</summary>
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

    private static void Write(StringBuilder text, MeasuredInstrument instrument)
    {
        var series = instrument.Series;
        if (series.Count == 0)
            return;

        var name = NameOf(instrument);
        text.Append(CultureInfo.InvariantCulture, $"# HELP {name} {instrument.Instrument.Description}\n");
        text.Append(CultureInfo.InvariantCulture, $"# TYPE {name} {instrument.Type}\n");
        foreach (var one in series)
        {
            var (sum, counts) = one.Read();
            var labels = Labels(one.Tags);
            if (instrument.Bounds.Length > 0)
                WriteBuckets(text, name, labels, instrument.Bounds, sum, counts);
            else
                WriteLine(text, name, labels, sum);
        }
    }

    private static void WriteBuckets(
        StringBuilder text, string name, string labels, double[] bounds, double sum, long[] counts)
    {
        long all = 0;
        var others = labels.Length > 0 ? labels + "," : "";
        for (var i = 0; i < counts.Length; i++)
        {
            all += counts[i];
            var bound = i < bounds.Length ? bounds[i].ToString(CultureInfo.InvariantCulture) : "+Inf";
            WriteLine(text, name + "_bucket", $"{others}le=\"{bound}\"", all);
        }

        WriteLine(text, name + "_sum", labels, sum);
        WriteLine(text, name + "_count", labels, all);
    }

    private static void WriteLine(StringBuilder text, string name, string labels, double value) =>
        text.Append(name).Append(labels.Length > 0 ? $"{{{labels}}} " : " ")
            .Append(value.ToString(CultureInfo.InvariantCulture)).Append('\n');

    // No value needs an escape: all are words or numbers of our own and Npgsql's code.
    private static string Labels(KeyValuePair<string, object?>[] tags) =>
        string.Join(',', tags.Select(tag => string.Create(
            CultureInfo.InvariantCulture, $"{Plain(tag.Key)}=\"{tag.Value}\"")));

    private static string Plain(string name) => name.Replace('.', '_');
}
