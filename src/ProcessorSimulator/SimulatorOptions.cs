using System.Globalization;

namespace ProcessorSimulator;

/// <summary>Every setting of the simulator, read once at the start and refused there when wrong.</summary>
internal sealed record SimulatorOptions(
    decimal FeePerTransaction, string Token, int DelayMilliseconds, bool Failing, int MaxPayments)
{
    public static SimulatorOptions Read(IConfiguration settings)
    {
        CheckUrls(settings[WebHostDefaults.ServerUrlsKey]);
        return new SimulatorOptions(
            Of("FeePerTransaction", 0.05m, "a decimal from 0 to 1, such as 0.05", value => (decimal.TryParse(
                value, NumberStyles.AllowDecimalPoint, CultureInfo.InvariantCulture, out var fee) && fee <= 1, fee)),
            Of("Token", "123", "a token", value => (!string.IsNullOrWhiteSpace(value), value)),
            Of("Delay", 0, "a whole number of milliseconds, 0 or more", value => (int.TryParse(
                value, NumberStyles.None, CultureInfo.InvariantCulture, out var delay), delay)),
            Of("Failing", false, "true or false", value => (bool.TryParse(value, out var failing), failing)),
            Of("MaxPayments", 5_000_000, "a whole number of payments, 1 or more", value => (int.TryParse(
                value, NumberStyles.None, CultureInfo.InvariantCulture, out var count) && count > 0, count)));

        T Of<T>(string name, T fallback, string expected, Func<string, (bool IsValid, T Parsed)> parse)
        {
            if (settings[$"Simulator:{name}"] is not { } value)
                return fallback;
            var (isValid, parsed) = parse(value);
            return isValid ? parsed : throw new WrongSettingException($"Simulator__{name}", value, expected);
        }
    }

    private static void CheckUrls(string? urls)
    {
        const string expected = "a list of http addresses, such as http://0.0.0.0:8080";
        foreach (var url in (urls ?? "").Split(';', StringSplitOptions.RemoveEmptyEntries))
        {
            if (!IsHttpAddress(url))
                throw new WrongSettingException("ASPNETCORE_URLS", urls, expected);
        }
    }

    private static bool IsHttpAddress(string url)
    {
        try
        {
            var address = BindingAddress.Parse(url);
            return address.Scheme == "http" && address.Port is >= 0 and <= 65_535;
        }
        catch (FormatException)
        {
            return false;
        }
    }
}

/// <summary>Stops the start: names the setting that has a wrong value and says what it should be.</summary>
internal sealed class WrongSettingException(string setting, string? value, string expected)
    : Exception($"{setting}: '{value}' is not {expected}.");
