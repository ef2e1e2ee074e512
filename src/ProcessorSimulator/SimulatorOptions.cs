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
            ReadFee(settings["Simulator:FeePerTransaction"]),
            ReadToken(settings["Simulator:Token"]),
            ReadDelay(settings["Simulator:Delay"]),
            ReadFailing(settings["Simulator:Failing"]),
            ReadMaxPayments(settings["Simulator:MaxPayments"]));
    }

    private static decimal ReadFee(string? value)
    {
        if (value is null)
            return 0.05m;
        const NumberStyles style = NumberStyles.AllowDecimalPoint;
        if (decimal.TryParse(value, style, CultureInfo.InvariantCulture, out var fee) && fee <= 1)
            return fee;
        throw new WrongSettingException("Simulator__FeePerTransaction", value, "a decimal from 0 to 1, such as 0.05");
    }

    private static string ReadToken(string? value)
    {
        if (value is null)
            return "123";
        if (!string.IsNullOrWhiteSpace(value))
            return value;
        throw new WrongSettingException("Simulator__Token", value, "a token");
    }

    private static int ReadDelay(string? value)
    {
        if (value is null)
            return 0;
        if (int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out var milliseconds))
            return milliseconds;
        throw new WrongSettingException("Simulator__Delay", value, "a whole number of milliseconds, 0 or more");
    }

    private static bool ReadFailing(string? value)
    {
        if (value is null)
            return false;
        if (bool.TryParse(value, out var failing))
            return failing;
        throw new WrongSettingException("Simulator__Failing", value, "true or false");
    }

    private static int ReadMaxPayments(string? value)
    {
        if (value is null)
            return 5_000_000;
        if (int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out var payments) && payments > 0)
            return payments;
        throw new WrongSettingException("Simulator__MaxPayments", value, "a whole number of payments, 1 or more");
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
