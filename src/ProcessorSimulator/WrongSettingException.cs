namespace ProcessorSimulator;

/// <summary>Stops the start: names the setting that has a wrong value and says what it should be.</summary>
internal sealed class WrongSettingException(string setting, string? value, string expected)
    : Exception($"{setting}: '{value}' is not {expected}.");
