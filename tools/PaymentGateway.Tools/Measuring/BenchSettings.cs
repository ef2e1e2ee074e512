using System.Globalization;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>The variables that shape a measurement, with their defaults.</summary>
internal sealed class BenchSettings(SystemSettings system)
{
    public const string Names =
        """
        LIMITS=1 ROUNDS SIDES SECONDS_EACH CONNECTIONS WARM_SECONDS IDLE=say|refuse, RATE RATE_SIDES RATE_SECONDS,
        DRAIN_PAYMENTS DRAIN_DELAYS, SUMMARY_ROWS SUMMARY_RATE SUMMARY_SECONDS, STARTS, OVERLOAD_SECONDS
        OVERLOAD_CONNECTIONS, STORM_WINDOWS STORM_RATE STORM_SECONDS STORM_CONNECTIONS STORM_ROWS, TYPES=1, OUT
        """;

    public SystemSettings System => system;

    public int Rounds => Number("ROUNDS", 3);

    public int SecondsEach => Number("SECONDS_EACH", 6);

    public int Connections => Number("CONNECTIONS", 64);

    public int WarmSeconds => Number("WARM_SECONDS", 30);

    public bool RefusesBusy => Text("IDLE", "say") == "refuse";

    public string[] Sides => List("SIDES", "nginx-alone stub stored stored-durable");

    public int Rate => Number("RATE", 550);

    public string[] RateSides => List("RATE_SIDES", "stub stored");

    public int RateSeconds => Number("RATE_SECONDS", 10);

    public int DrainPayments => Number("DRAIN_PAYMENTS", 50_000);

    public string[] DrainDelays => List("DRAIN_DELAYS", "0 20");

    public string[] SummaryRows => List("SUMMARY_ROWS", "0 1000000 10000000");

    public int SummaryRate => Number("SUMMARY_RATE", 50);

    public int SummarySeconds => Number("SUMMARY_SECONDS", 6);

    public int Starts => Number("STARTS", 7);

    public int OverloadSeconds => Number("OVERLOAD_SECONDS", 600);

    public int OverloadConnections => Number("OVERLOAD_CONNECTIONS", 1200);

    public string[] StormWindows => List("STORM_WINDOWS", "same distinct");

    public int StormRate => Number("STORM_RATE", 200);

    public int StormSeconds => Number("STORM_SECONDS", 8);

    public int StormConnections => Number("STORM_CONNECTIONS", 512);

    public string StormRows => Text("STORM_ROWS", "100000");

    public bool TellsTypes => system["TYPES"] is not null;

    public string? Out => system["OUT"];

    private string Text(string name, string otherwise) => system[name] ?? otherwise;

    private string[] List(string name, string otherwise) =>
        Text(name, otherwise).Split(' ', StringSplitOptions.RemoveEmptyEntries);

    private int Number(string name, int otherwise) => NumberOf(system, name, otherwise);

    /// <summary>A whole number of the environment.</summary>
    public static int NumberOf(SystemSettings system, string name, int otherwise) => system[name] is not { } text
        ? otherwise
        : int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            ? number
            : throw new ToolException($"{name} is '{text}'; it may be a whole number");
}
