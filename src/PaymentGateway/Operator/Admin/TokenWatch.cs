using PaymentGateway.Storage;

namespace PaymentGateway.Operator.Admin;

/// <summary>Gives each payer a number in the ledger before a token of it comes into force.</summary>
internal sealed class TokenWatch(AdminTokens tokens, PayerStore payers, TimeProvider clock) : BackgroundService
{
    private static readonly TimeSpan Interval = TimeSpan.FromSeconds(2);

    /// <summary>Registers payers before the listener opens, if PostgreSQL is available.</summary>
    public override async Task StartAsync(CancellationToken cancellationToken)
    {
        await RegisterAsync(tokens.All);
        await base.StartAsync(cancellationToken);
    }

    protected override async Task ExecuteAsync(CancellationToken stoppingToken)
    {
        while (!await RegisterAsync(tokens.All))
            await Task.Delay(Interval, clock, stoppingToken);
    }

    /// <returns>Whether all payers have their numbers; PostgreSQL may be unavailable.</returns>
    private async Task<bool> RegisterAsync(AdminToken[] all)
    {
        var missing = all.Select(token => token.Payer).OfType<Payer>().Where(payer => payer.Number == 0).ToList();
        if (missing.Count == 0)
            return true;

        try
        {
            foreach (var row in await payers.RegisterAsync([.. missing.Select(payer => payer.Name).Distinct()]))
                missing.FindAll(payer => payer.Name == row.Name).ForEach(payer => payer.Number = row.Id);
            return missing.TrueForAll(payer => payer.Number > 0);
        }
        catch (Exception failed) when (failed is DbException or TimeoutException)
        {
            // The keeper of the lease logs that PostgreSQL is unavailable. Payments get 503 meanwhile.
            return false;
        }
    }
}
