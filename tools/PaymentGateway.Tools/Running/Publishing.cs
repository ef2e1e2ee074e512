namespace PaymentGateway.Tools.Running;

/// <summary>Installs what lacks and publishes both programs, as long as nobody has said NO_PUBLISH=1.</summary>
public static class Publishing
{
    public static async Task PrepareAsync(SystemSettings settings, CancellationToken cancellation = default)
    {
        if (!settings.Publishes)
            return;

        foreach (var script in new[] { "setup", "publish" })
        {
            var status = await Shell.ShowAsync([Repository.PathOf("eng", script)], cancellation: cancellation);
            cancellation.ThrowIfCancellationRequested();
            if (status != 0)
                throw new ToolException($"eng/{script} failed", status);
        }
    }
}
