namespace PaymentGateway.Tests.Support;

/// <summary>
/// A script beside this file that makes networks and servers, says where its files are, takes orders by lines, and
/// undoes everything when its input ends: also when this process is killed.
/// </summary>
public sealed class ClusterScript : IAsyncDisposable
{
    private readonly Process _script;

    private ClusterScript(Process script, string directory)
    {
        _script = script;
        Directory = directory;
    }

    /// <summary>Of its logs and sockets, until the end.</summary>
    public string Directory { get; }

    /// <summary>Returns when it takes orders.</summary>
    public static async Task<ClusterScript> StartAsync(string name, params string[] arguments)
    {
        var path = Repository.PathOf("tests", "PaymentGateway.Tests", "Support", name);
        var script = Process.Start(new ProcessStartInfo("bash", [path, .. arguments])
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        return await script.StandardOutput.ReadLineAsync() is { } directory
            ? new ClusterScript(script, directory)
            : throw new InvalidOperationException(await script.StandardError.ReadToEndAsync());
    }

    public async Task OrderAsync(string order)
    {
        await _script.StandardInput.WriteLineAsync(order);
        if (await _script.StandardOutput.ReadLineAsync() is null)
            throw new InvalidOperationException($"{order}: {await _script.StandardError.ReadToEndAsync()}");
    }

    public async ValueTask DisposeAsync()
    {
        _script.StandardInput.Close();
        await _script.WaitForExitAsync();
        _script.Dispose();
    }
}
