namespace ProcessorSimulator.Administering;

/// <summary>The answer to a changed switch: its name, its value before and its value now.</summary>
internal sealed record ConfigurationChange<T>(string Config, T Was, T Is);
