using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace PaymentGateway.Tests.Support;

/// <summary>Certificates for this machine that only a configured client trusts.</summary>
public static class SelfSigned
{
    /// <param name="issuer">The URL that the certificate names for its issuer; without one it signs itself.</param>
    public static X509Certificate2 Create(Uri? issuer = null)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=processor", key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddIpAddress(IPAddress.Loopback);
        request.CertificateExtensions.Add(names.Build());
        var (from, to) = (DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(1));
        if (issuer is null)
            return request.CreateSelfSigned(from, to);

        using var issuerKey = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        request.CertificateExtensions.Add(new X509AuthorityInformationAccessExtension([], [issuer.AbsoluteUri]));
        using var certificate = request.Create(
            new X500DistinguishedName("CN=issuer"), X509SignatureGenerator.CreateForECDsa(issuerKey), from, to, [1]);
        return certificate.CopyWithPrivateKey(key);
    }
}
