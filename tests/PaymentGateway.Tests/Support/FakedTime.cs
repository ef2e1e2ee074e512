namespace PaymentGateway.Tests.Support;

/// <summary>A PG_BIN whose server has a wall clock that a test may set while it runs, by libfaketime.</summary>
public sealed class FakedTime : IDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("payment-gateway-clock");

    public FakedTime()
    {
        var real = PostgresServer.Binaries!;
        var clock = Path.Combine(_directory.FullName, "clock");
        // User postgres has to enter here.
        const UnixFileMode Everyone = UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.UserExecute
            | UnixFileMode.GroupRead | UnixFileMode.GroupExecute | UnixFileMode.OtherRead | UnixFileMode.OtherExecute;
        _directory.UnixFileMode = Everyone;
        foreach (var tool in new[] { "initdb", "psql" })
            File.CreateSymbolicLink(Path.Combine(_directory.FullName, tool), Path.Combine(real, tool));
        var server = Path.Combine(_directory.FullName, "postgres");
        File.WriteAllText(server, $"""
            #!/bin/sh
            exec env LD_PRELOAD={Library} FAKETIME_TIMESTAMP_FILE={clock} FAKETIME_NO_CACHE=1 \
              FAKETIME_DONT_FAKE_MONOTONIC=1 {real}/postgres "$@"
            """);
        File.SetUnixFileMode(server, Everyone);
        Jump(0);
    }

    public static string? Library { get; } = Directory.Exists("/usr/lib")
        ? Directory.GetDirectories("/usr/lib", "*-linux-gnu")
            .Select(folder => Path.Combine(folder, "faketime", "libfaketime.so.1")).FirstOrDefault(File.Exists)
        : null;

    public static string? SkipReason =>
        Library is null ? "lacks libfaketime: eng/setup tests brings it" : null;

    public string Binaries => _directory.FullName;

    /// <summary>From now on the server's clock is so far from the others'.</summary>
    public void Jump(int seconds)
    {
        // Never half written where the server reads it each time that it reads its clock.
        var next = Path.Combine(_directory.FullName, "next");
        File.WriteAllText(next, $"{seconds:+0;-0;+0}\n");
        File.SetUnixFileMode(next, UnixFileMode.UserRead | UnixFileMode.GroupRead | UnixFileMode.OtherRead);
        File.Move(next, Path.Combine(_directory.FullName, "clock"), overwrite: true);
    }

    public void Dispose() => _directory.Delete(recursive: true);
}

public sealed class FakedTimeFactAttribute()
    : NeedsFactAttribute(WholeSystem, GatewaySystemParts.SkipReason ?? FakedTime.SkipReason);
