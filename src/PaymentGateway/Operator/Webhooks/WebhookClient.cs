using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using PaymentGateway.Hosting.Telemetry;
using PaymentGateway.Operator.Events;

namespace PaymentGateway.Operator.Webhooks;

/// <summary>Sends events, signed by the scheme of standardwebhooks.com. Safe from any thread.</summary>
internal sealed class WebhookClient(TimeProvider clock) : IDisposable
{
    /// <summary>From the start of a call to the answer's headers, connecting included.</summary>
    public static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(10);

    private const int ReasonLengthMax = 200;

    // Where clouds tell a host its own secrets, and nothing else lives: no setting allows them. The last four embed an
    // IPv4 address of 169.254.
    private static readonly IPNetwork[] LinkLocal = Array.ConvertAll(
        new[]
        {
            "169.254.0.0/16", "168.63.129.16/32", "fe80::/10", "fd00:ec2::254/128", "::169.254.0.0/112",
            "::ffff:0:a9fe:0/112", "64:ff9b::a9fe:0/112", "2002:a9fe::/32",
        },
        IPNetwork.Parse);

    // Addresses that no public host has: this host's, private, shared, link-local (a cloud's metadata), test and
    // multicast ones, and those that embed an IPv4 address.
    private static readonly IPNetwork[] Private = Array.ConvertAll(
        new[]
        {
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3", "::/96", "::ffff:0:0:0/96",
            "64:ff9b::/32", "2001::/32", "2002::/16", "fc00::/7", "fe80::/9", "ff00::/8",
        },
        IPNetwork.Parse);

    private readonly HttpMessageInvoker _public = new(Connect(allowsPrivate: false));
    private readonly HttpMessageInvoker _any = new(Connect(allowsPrivate: true));

    /// <returns>Null when the endpoint answered with 2xx.</returns>
    /// <param name="within">At most <see cref="CallTimeout"/>, the default.</param>
    public async Task<DeliveryFailure?> SendAsync(
        WebhookOptions endpoint, EventAnswer one, CancellationToken stopping, TimeSpan? within = null)
    {
        var timeout = within ?? CallTimeout;
        var timestamp = clock.GetUtcNow().ToUnixTimeSeconds();
        var body = JsonSerializer.SerializeToUtf8Bytes(one, EventJsonContext.Default.EventAnswer);
        using var request = new HttpRequestMessage(HttpMethod.Post, endpoint.Url)
        {
            Content = new ByteArrayContent(body),
            Headers =
            {
                { "User-Agent", GatewayOptions.UserAgent },
                { "webhook-id", one.Id },
                { "webhook-timestamp", $"{timestamp}" },
                { "webhook-signature", string.Join(
                    ' ', endpoint.Secrets.Select(secret => Sign(secret, one.Id, timestamp, body))) },
            },
        };
        request.Content.Headers.ContentType = new("application/json");
        using var limit = new CancellationTokenSource(timeout, clock);
        using var end = CancellationTokenSource.CreateLinkedTokenSource(limit.Token, stopping);
        try
        {
            using var answer = await (endpoint.AllowsPrivate ? _any : _public).SendAsync(request, end.Token);
            return answer.IsSuccessStatusCode
                ? null
                : new DeliveryFailure($"status {(int)answer.StatusCode}", RetryAfter(answer));
        }
        catch (OperationCanceledException) when (!stopping.IsCancellationRequested)
        {
            return new DeliveryFailure($"no answer within {timeout.TotalSeconds:0} s");
        }
        catch (Exception failed) when (failed is HttpRequestException or IOException or SocketException)
        {
            // It may quote what the peer sent: a zero could not be stored.
            var reason = LogFormatter.Visible(failed.Message);
            return new DeliveryFailure(reason.Length > ReasonLengthMax ? reason[..ReasonLengthMax] : reason);
        }
    }

    public static string Sign(byte[] secret, string id, long timestamp, byte[] body)
    {
        using var signing = IncrementalHash.CreateHMAC(HashAlgorithmName.SHA256, secret);
        signing.AppendData(Encoding.UTF8.GetBytes($"{id}.{timestamp}."));
        signing.AppendData(body);
        return $"v1,{Convert.ToBase64String(signing.GetHashAndReset())}";
    }

    /// <param name="allowsPrivate">Refuses only the addresses that no setting allows.</param>
    public static bool IsRefused(IPAddress address, bool allowsPrivate)
    {
        var plain = address.IsIPv4MappedToIPv6 ? address.MapToIPv4() : address;
        return Array.Exists(LinkLocal, network => network.Contains(plain))
            || (!allowsPrivate && Array.Exists(Private, network => network.Contains(plain)));
    }

    public void Dispose()
    {
        _public.Dispose();
        _any.Dispose();
    }

    // What Standard Webhooks ask a sender to obey. A date by another clock may lie in the past.
    private TimeSpan RetryAfter(HttpResponseMessage answer) =>
        (int)answer.StatusCode is 429 or 502 or 503 or 504 && answer.Headers.RetryAfter is { } asked
            ? asked.Delta ?? asked.Date - clock.GetUtcNow() ?? default
            : default;

    // No redirection, which could lead to a private address. Each new connection resolves and checks the name again.
    private static SocketsHttpHandler Connect(bool allowsPrivate) => new()
    {
        AllowAutoRedirect = false,
        UseProxy = false,
        UseCookies = false,
        // Otherwise .NET may fetch a certificate's issuer from any address, on the sockets' thread.
        SslOptions = { CertificateChainPolicy = new X509ChainPolicy
        {
            RevocationMode = X509RevocationMode.NoCheck, DisableCertificateDownloads = true,
        } },
        MaxResponseHeadersLength = 16,
        MaxResponseDrainSize = 16 * 1024,
        PooledConnectionLifetime = TimeSpan.FromMinutes(2),
        ConnectCallback = async (context, end) =>
        {
            var (host, port) = (context.DnsEndPoint.Host, context.DnsEndPoint.Port);
            var addresses = await Dns.GetHostAddressesAsync(host, end);
            addresses = Array.FindAll(addresses, one => !IsRefused(one, allowsPrivate));
            if (addresses.Length == 0)
                throw new HttpRequestException($"{host} has no address that is allowed");

            return await AddressRace.ConnectAsync(addresses, port, end);
        },
    };
}

/// <summary>Why an endpoint did not take an event, in at most 200 visible characters.</summary>
/// <param name="RetryAfter">The pause that it asked for; not above zero where it asked for none.</param>
internal sealed record DeliveryFailure(string Reason, TimeSpan RetryAfter = default);
