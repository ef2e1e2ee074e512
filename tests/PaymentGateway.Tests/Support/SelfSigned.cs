using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace PaymentGateway.Tests.Support;

/// <summary>Certificates for this machine that nobody trusts unless he is told to.</summary>
public static class SelfSigned
{
    public static X509Certificate2 Create()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        return Request("CN=processor", key).CreateSelfSigned(Now.AddDays(-1), Now.AddDays(1));
    }

    /// <summary>One whose issuer is said to be found at a URL.</summary>
    public static X509Certificate2 CreateIssuedBy(Uri issuer)
    {
        using var issuerKey = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = Request("CN=processor", key);
        request.CertificateExtensions.Add(new X509AuthorityInformationAccessExtension([], [issuer.AbsoluteUri]));
        using var certificate = request.Create(
            new X500DistinguishedName("CN=issuer"), X509SignatureGenerator.CreateForECDsa(issuerKey), Now.AddDays(-1),
            Now.AddDays(1), [1]);
        return certificate.CopyWithPrivateKey(key);
    }

    private static DateTimeOffset Now => DateTimeOffset.UtcNow;

    private static CertificateRequest Request(string subject, ECDsa key)
    {
        var request = new CertificateRequest(subject, key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        return request;
    }
}
