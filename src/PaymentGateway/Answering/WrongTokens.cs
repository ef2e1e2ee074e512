namespace PaymentGateway.Answering;

/// <summary>
/// Counts different wrong tokens of a minute, by address: a client with an old token repeats the same one, and must not
/// lock out the others of its address. Any thread.
/// </summary>
internal sealed class WrongTokens(TimeProvider clock)
{
    /// <summary>So many different ones from an address within a minute.</summary>
    public const int Max = 100;

    // Memory is bounded. Who has more addresses is not held off by counting at each.
    private const int AddressesMax = 256;

    private static readonly TimeSpan Window = TimeSpan.FromMinutes(1);

    private readonly Dictionary<string, Counted> _counts = [];

    /// <summary>How long no token from an address is looked at; zero while there were fewer.</summary>
    public TimeSpan PauseOf(string address)
    {
        lock (_counts)
            return Present(address) is { Hashes.Count: >= Max } full
                ? Window - clock.GetElapsedTime(full.Since)
                : TimeSpan.Zero;
    }

    /// <summary>Counts a wrong token.</summary>
    /// <returns>How many there are of this minute; 0 when this one is among them already.</returns>
    public int Add(string address, byte[] hash)
    {
        lock (_counts)
        {
            var counted = Present(address);
            if (counted is null)
            {
                if (_counts.Count == AddressesMax)
                    _counts.Clear();
                _counts[address] = counted = new Counted(clock.GetTimestamp());
            }

            return counted.Hashes.Add(BitConverter.ToInt64(hash)) ? counted.Hashes.Count : 0;
        }
    }

    private Counted? Present(string address) =>
        _counts.TryGetValue(address, out var counted) && clock.GetElapsedTime(counted.Since) < Window ? counted : null;

    private sealed class Counted(long since)
    {
        public long Since => since;

        public HashSet<long> Hashes { get; } = [];
    }
}
