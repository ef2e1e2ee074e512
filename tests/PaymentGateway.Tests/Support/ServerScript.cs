namespace PaymentGateway.Tests.Support;

/// <summary>A script that makes servers and answers each order by a line; it undoes all when its input ends.</summary>
public sealed class ServerScript : IAsyncDisposable
{
    private readonly Process _script;

    private ServerScript(Process script, string directory)
    {
        _script = script;
        Directory = directory;
    }

    public string Directory { get; }

    public static string PathOf(string name) => Repository.PathOf("tests", "PaymentGateway.Tests", "Support", name);

    /// <summary>Returns when the script takes orders.</summary>
    public static async Task<ServerScript> StartAsync(params string[] bashArguments)
    {
        var script = Process.Start(new ProcessStartInfo("bash", bashArguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        })!;
        return await script.StandardOutput.ReadLineAsync() is { } directory
            ? new ServerScript(script, directory)
            : throw new InvalidOperationException(await script.StandardError.ReadToEndAsync());
    }

    public async Task<string> OrderAsync(string order)
    {
        await _script.StandardInput.WriteLineAsync(order);
        return await _script.StandardOutput.ReadLineAsync()
            ?? throw new InvalidOperationException($"{order}: {await _script.StandardError.ReadToEndAsync()}");
    }

    public async ValueTask DisposeAsync()
    {
        _script.StandardInput.Close();
        await _script.WaitForExitAsync();
        _script.Dispose();
    }
}
