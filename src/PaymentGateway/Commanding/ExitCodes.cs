namespace PaymentGateway.Commanding;

/// <summary>What the program ends with: those of sysexits.h, and 1 for a plain no. docs/cli.md has them all.</summary>
internal static class ExitCodes
{
    public const int Ok = 0;

    /// <summary>There is no such payment; healthcheck: not ready.</summary>
    public const int No = 1;

    /// <summary>EX_USAGE: the arguments are wrong.</summary>
    public const int Usage = 64;

    /// <summary>EX_DATAERR: the ledger and the processors differ.</summary>
    public const int Differs = 65;

    /// <summary>EX_UNAVAILABLE: the gateway or PostgreSQL does not answer, or not now.</summary>
    public const int Unavailable = 69;

    /// <summary>EX_SOFTWARE: a part failed, or an answer was none of the contract.</summary>
    public const int Failed = 70;

    /// <summary>EX_NOPERM: the token is missing or wrong, or its role is too low.</summary>
    public const int NotPermitted = 77;

    /// <summary>EX_CONFIG: a setting is wrong.</summary>
    public const int WrongSetting = 78;
}
