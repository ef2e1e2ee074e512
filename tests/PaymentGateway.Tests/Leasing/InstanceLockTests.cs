using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.Leasing;

public sealed class InstanceLockTests : IDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("gateway-lock");

    private string Socket => Path.Combine(_directory.FullName, "api.sock");

    private string Url => InstanceLock.UnixScheme + Socket;

    public void Dispose() => _directory.Delete(recursive: true);

    [Fact]
    public void The_next_process_removes_the_socket_file_of_a_dead_one_and_has_its_identity()
    {
        string first;
        using (var taken = InstanceLock.Take(Url, "one"))
            first = taken.Identity;
        File.WriteAllText(Socket, "");

        using var next = InstanceLock.Take(Url, "two");

        Assert.False(File.Exists(Socket));
        Assert.Equal((first, first), (next.Identity, next.ProvenTerminated));
    }

    [Fact]
    public void A_second_process_and_a_missing_directory_are_refused_and_the_socket_of_the_first_stays()
    {
        using var first = InstanceLock.Take(Url, "one");
        File.WriteAllText(Socket, "");

        foreach (var socket in new[] { Socket, Path.Combine(_directory.FullName, "missing", "api.sock") })
        {
            var wrong = Assert.Throws<ConfigurationException>(
                () => InstanceLock.Take(InstanceLock.UnixScheme + socket, "two"));

            Assert.StartsWith("ASPNETCORE_URLS: ", wrong.Message, StringComparison.Ordinal);
            Assert.Contains(socket, wrong.Message, StringComparison.Ordinal);
        }

        Assert.True(File.Exists(Socket));
    }

    [Fact]
    public void An_operators_socket_is_locked_too_and_gives_no_identity()
    {
        var admin = BindingAddress.Parse(Url + ".admin");
        File.WriteAllText(Socket + ".admin", "");

        using (var first = InstanceLock.Take(Url, "one", [admin]))
        {
            using var alone = InstanceLock.Take("http://127.0.0.1:8080", "two");
            var wrong = Assert.Throws<ConfigurationException>(() => InstanceLock.Take(Url + "2", "two", [admin]));

            Assert.False(File.Exists(Socket + ".admin"));
            Assert.StartsWith("Gateway__Admin__Urls: ", wrong.Message, StringComparison.Ordinal);
            Assert.Contains(Socket + "@", first.Identity, StringComparison.Ordinal);
            Assert.Empty(alone.ProvenTerminated);
        }

        // The one that was refused has let go of its first socket.
        using var again = InstanceLock.Take(Url + "2", "two", [admin]);
        Assert.Equal(again.Identity, again.ProvenTerminated);
    }

    // Hosts may share their name, as containers of one compose file on two machines do, and two compose projects on one
    // host have one host name and path, in a volume each.
    [Fact]
    public void The_boot_of_the_kernel_the_socket_and_the_lock_file_are_part_of_the_identity()
    {
        using var taken = InstanceLock.Take(Url, "one");
        using var other = InstanceLock.Take(Url + "2", "one");
        File.Move(Socket + ".lock", Socket + ".elsewhere");
        using var elsewhere = InstanceLock.Take(Url, "one");
        var boot = File.ReadAllText("/proc/sys/kernel/random/boot_id").Trim();

        Assert.Contains(boot, taken.Identity, StringComparison.Ordinal);
        Assert.StartsWith(Environment.MachineName, taken.Identity, StringComparison.Ordinal);
        Assert.Equal(3, new[] { taken.Identity, other.Identity, elsewhere.Identity }.Distinct().Count());
    }

    // Otherwise any local user could hold the lock, and the next start would be refused.
    [Fact]
    public void Only_the_owner_may_open_a_lock_file()
    {
        using var taken = InstanceLock.Take(Url, "one");

        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite, File.GetUnixFileMode(Socket + ".lock"));
    }

    [Theory]
    [InlineData(null)]
    [InlineData("http://127.0.0.1:5000")]
    public void Without_a_socket_the_end_of_an_earlier_process_is_not_proven(string? urls)
    {
        using var taken = InstanceLock.Take(urls, "one");

        Assert.Empty(taken.ProvenTerminated);
        Assert.EndsWith("/one", taken.Identity, StringComparison.Ordinal);
    }
}
