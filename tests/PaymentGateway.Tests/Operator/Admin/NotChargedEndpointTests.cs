namespace PaymentGateway.Tests.Operator.Admin;

/// <summary>An operator's word that a processor has not charged the payments in doubt there.</summary>
public sealed class NotChargedEndpointTests() : OneGateway("Settling:CallTimeout=300ms", "Settling:InDoubtHorizon=1s")
{
    private static readonly TimeSpan Horizon = TimeSpan.FromSeconds(1);

    [PostgresFact]
    public async Task Payments_in_doubt_at_a_silent_processor_are_charged_after_the_word_and_later_ones_are_not()
    {
        await Rig.Default.SetFaultsAsync(new { lookUp = "hang" });
        var before = await DoubtAsync();
        await OutlastsItsHorizonAsync(before);
        Assert.Equal((0, 0), await Rig.PostsAsync());

        using var said = await Gateway.PostAsync("admin/processors/default/not-charged");

        Assert.Equal(HttpStatusCode.Accepted, said.StatusCode);
        await Rig.LedgersReachAsync(byDefault: 1);
        var later = await DoubtAsync();
        await OutlastsItsHorizonAsync(later);
        Assert.Equal((1, 0), await Rig.PostsAsync());
        Assert.Equal(
            "202 default",
            await Rig.Database.ScalarAsync<string>(
                "SELECT outcome FROM operator_actions WHERE action = 'POST /admin/processors/{name}/not-charged'"));
    }

    [PostgresFact]
    public async Task A_payment_that_a_422_has_held_is_charged_after_the_word_and_held_no_more()
    {
        await Rig.Default.SetFaultsAsync(new { lookUp = "notFound" });
        var payment = await DoubtAsync(held: true);
        await Rig.Database.ExecuteAsync("UPDATE payments SET held_by = 1");
        await OutlastsItsHorizonAsync(payment);
        Assert.Equal((0, 0), await Rig.PostsAsync());

        using var said = await Gateway.PostAsync("admin/processors/default/not-charged");

        await Rig.LedgersReachAsync(byDefault: 1);
        await Eventually.HoldsAsync(
            () => Rig.Database.ScalarAsync<bool>("SELECT held_by IS NULL FROM payments"),
            "an adopter would not take it for held");
    }

    [PostgresFact]
    public async Task A_name_that_the_ledger_does_not_know_is_not_found()
    {
        using var answer = await Gateway.PostAsync("admin/processors/nobody/not-charged");

        Assert.Equal(HttpStatusCode.NotFound, answer.StatusCode);
        Assert.Contains("processor-not-found", await answer.Content.ReadAsStringAsync());
    }

    private async Task<Payment> DoubtAsync(bool held = false)
    {
        var epoch = Gateway.Epoch.Number;
        var stored = await Rig.Database.StoreAsync(epoch, 1, Timestamps.Truncate(DateTime.UtcNow));
        var payment = Payment.OfRow(
            stored.Ids[0], 1990, stored.AcceptedAts[0], epoch, isHandedOver: false, held ? Known.Default.Id : null);
        Gateway.Epoch.Unsettled.Add(payment);
        if (payment.Adopt(Known.AtDefault, Gateway.Part<TimeProvider>().GetTimestamp()) != NextStep.Resolve)
            payment.Doubt();
        Gateway.Epoch.Doubts.Add(payment);
        return payment;
    }

    // Long enough for a word to be read, too: it is asked for each second.
    private async Task OutlastsItsHorizonAsync(Payment payment)
    {
        await Eventually.HoldsAsync(
            () => Gateway.Part<TimeProvider>().GetElapsedTime(payment.DoubtSince) > 3 * Horizon, "its horizon ends");
        Assert.True(payment.MayBeStored);
        Assert.Equal(1, Gateway.Epoch.Doubts.Count);
    }
}
