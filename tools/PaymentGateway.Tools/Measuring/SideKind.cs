namespace PaymentGateway.Tools.Measuring;

/// <summary>What a side is: the gateway as it is set, or something cheaper in its place, to compare it with.</summary>
public enum SideKind
{
    Gateway,

    /// <summary>Stands where the instances do, behind the same nginx; no storage and no processors.</summary>
    Stub,

    /// <summary>nginx answers by itself.</summary>
    NginxAlone,
}
