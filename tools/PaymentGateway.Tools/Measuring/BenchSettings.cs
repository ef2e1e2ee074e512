using System.Globalization;
using PaymentGateway.Tools.Running;

namespace PaymentGateway.Tools.Measuring;

/// <summary>The variables that shape a measurement, with their defaults.</summary>
internal sealed class BenchSettings(SystemSettings system)
{
    public const string Names =
        """
        LIMITS=1 ROUNDS SIDES SECONDS_EACH CONNECTIONS WARM_SECONDS IDLE=say|refuse, TYPES=1, OUT
        """;

    public SystemSettings System => system;

    public int Rounds => Number("ROUNDS", 3);

    public int SecondsEach => Number("SECONDS_EACH", 6);

    public int Connections => Number("CONNECTIONS", 64);

    public int WarmSeconds => Number("WARM_SECONDS", 30);

    public bool RefusesBusy => Text("IDLE", "say") == "refuse";

    public string[] Sides => Text("SIDES", "nginx-alone stub stored stored-durable")
        .Split(' ', StringSplitOptions.RemoveEmptyEntries);

    public bool TellsTypes => system["TYPES"] is not null;

    public string? Out => system["OUT"];

    private string Text(string name, string otherwise) => system[name] ?? otherwise;

    private int Number(string name, int otherwise) => NumberOf(system, name, otherwise);

    /// <summary>A whole number of the environment.</summary>
    public static int NumberOf(SystemSettings system, string name, int otherwise) => system[name] is not { } text
        ? otherwise
        : int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out var number)
            ? number
            : throw new ToolException($"{name} is '{text}'; it may be a whole number");
}
