namespace PaymentGateway.Tools.Containers;

/// <summary>A small Debian 12 in a folder, from which all substitute images are made.</summary>
internal sealed class SubstituteTree(string tree, string scratch)
{
    private string Log => Path.Combine(scratch, "tree.log");

    public async Task MakeAsync(string mirror, CancellationToken cancellation)
    {
        // It says what the tree was made by: another script makes another one.
        var complete = $"{tree}.complete";
        var script = await File.ReadAllTextAsync(Substitutes.PathOf("make-tree"), cancellation);
        if (File.Exists(complete) && await File.ReadAllTextAsync(complete, cancellation) == script)
            return;

        await Shell.ReadAsync(["rm", "-rf", tree], cancellation: cancellation);
        string[] debootstrap =
            ["debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", tree, mirror];
        await LoggedAsync(debootstrap, null, "debootstrap", cancellation);
        File.Copy("/etc/resolv.conf", At("etc/resolv.conf"), overwrite: true);
        // Nothing may be started in there.
        await File.WriteAllTextAsync(At("usr/sbin/policy-rc.d"), "#!/bin/sh\nexit 101\n", cancellation);
        await Shell.ReadAsync(["chmod", "755", At("usr/sbin/policy-rc.d")], cancellation: cancellation);
        Directory.CreateDirectory(At("etc/postgresql-common/createcluster.d"));
        await File.WriteAllTextAsync(
            At("etc/postgresql-common/createcluster.d/none.conf"), "create_main_cluster = false\n", cancellation);
        await LoggedAsync(["chroot", tree, "sh", "-e"], script, "the tree", cancellation);
        await File.WriteAllTextAsync(complete, script, cancellation);
    }

    private string At(string path) => Path.Combine(tree, path);

    private async Task LoggedAsync(
        string[] command, string? input, string what, CancellationToken cancellation)
    {
        var path = new Dictionary<string, string?> { ["PATH"] = Programs.SearchPath };
        var result = await Shell.RunAsync(
            [Programs.Find(command[0])!, .. command[1..]], variables: path, input: input, cancellation: cancellation);
        await File.AppendAllTextAsync(Log, result.Output + result.Errors, cancellation);
        if (!result.Succeeded)
            throw new ToolException($"{what} failed: {LastLine(result.Errors) ?? LastLine(result.Output)}");
    }

    private static string? LastLine(string text) =>
        text.Split('\n', StringSplitOptions.RemoveEmptyEntries).LastOrDefault();
}
