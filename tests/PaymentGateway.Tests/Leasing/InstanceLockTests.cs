using Microsoft.AspNetCore.Http;

namespace PaymentGateway.Tests.Leasing;

public sealed class InstanceLockTests : IDisposable
{
    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory("gateway-lock");

    private string Socket => Path.Combine(_directory.FullName, "api.sock");

    private string Url => InstanceLock.UnixScheme + Socket;

    public void Dispose() => _directory.Delete(recursive: true);

    [Fact]
    public void The_socket_file_of_a_dead_process_is_removed()
    {
        File.WriteAllText(Socket, "");

        using var taken = InstanceLock.Take(Url, "one");

        Assert.False(File.Exists(Socket));
        Assert.Equal(taken.Identity, taken.ProvenTerminated);
    }

    [Fact]
    public void A_second_process_is_refused_and_the_socket_of_the_first_stays()
    {
        using var first = InstanceLock.Take(Url, "one");
        File.WriteAllText(Socket, "");

        var wrong = Assert.Throws<ConfigurationException>(() => InstanceLock.Take(Url, "two"));

        Assert.StartsWith("ASPNETCORE_URLS: ", wrong.Message, StringComparison.Ordinal);
        Assert.Contains(Socket, wrong.Message, StringComparison.Ordinal);
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

    [Fact]
    public void A_lock_can_be_taken_again_when_the_first_process_has_ended_and_has_the_same_identity()
    {
        var first = InstanceLock.Take(Url, "one");
        first.Dispose();

        using var second = InstanceLock.Take(Url, "two");

        Assert.Equal(first.Identity, second.Identity);
    }

    // Two compose projects on one host have one host name and path, in a volume each.
    [Fact]
    public void Two_lock_files_at_one_path_are_two_identities()
    {
        using var one = InstanceLock.Take(Url, "same");
        File.Move(Socket + ".lock", Socket + ".elsewhere");

        using var other = InstanceLock.Take(Url, "same");

        Assert.NotEqual(one.Identity, other.Identity);
    }

    // Hosts may share their name, as containers of one compose file on two machines do.
    [Fact]
    public void The_boot_of_the_kernel_and_the_socket_are_part_of_the_identity()
    {
        using var taken = InstanceLock.Take(Url, "one");
        using var other = InstanceLock.Take(Url + "2", "one");
        var boot = File.ReadAllText("/proc/sys/kernel/random/boot_id").Trim();

        Assert.Contains(boot, taken.Identity, StringComparison.Ordinal);
        Assert.StartsWith(Environment.MachineName, taken.Identity, StringComparison.Ordinal);
        Assert.NotEqual(taken.Identity, other.Identity);
    }

    [Fact]
    public void A_missing_directory_is_a_wrong_setting()
    {
        var url = InstanceLock.UnixScheme + Path.Combine(_directory.FullName, "missing", "api.sock");

        var wrong = Assert.Throws<ConfigurationException>(() => InstanceLock.Take(url, "one"));

        Assert.StartsWith("ASPNETCORE_URLS: ", wrong.Message, StringComparison.Ordinal);
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
