using PaymentGateway.Tools.Measuring;

namespace PaymentGateway.Tests.Tools.Measuring;

public sealed class AbTableTests
{
    [Fact]
    public void A_variant_is_a_name_with_variables_perhaps_of_another_clone()
    {
        var variant = AbVariant.Parse("often=Gateway__Recording__Linger=40ms PG_ARGS=--fsync=on CLONE=/other");

        Assert.Equal(("often", "/other"), (variant.Name, variant.Root));
        Assert.Equal(
            [("Gateway__Recording__Linger", "40ms"), ("PG_ARGS", "--fsync=on")],
            variant.Variables.Select(pair => (pair.Key, pair.Value)));
    }

    [Fact]
    public void A_name_alone_is_the_shipped_system()
    {
        var variant = AbVariant.Parse("shipped");

        Assert.Equal(("shipped", PaymentGateway.Tools.Repository.Root), (variant.Name, variant.Root));
        Assert.Empty(variant.Variables);
    }

    [Fact]
    public void Each_variant_is_compared_with_the_first_within_each_round_and_in_the_order_given()
    {
        AbBurst[] bursts =
        [
            Burst("atDefault", 1, 0.050), Burst("base", 1, 0.100),
            Burst("base", 2, 0.200), Burst("atDefault", 2, 0.100),
        ];

        Assert.Equal(
            ["| base | 600 | 150 | 300 | 150 | 0.50 | 2.00 | 1.000 ± 0.000 |",
                "| atDefault | 300 | 75 | 150 | 75 | 0.50 | 2.00 | 0.500 ± 0.000 |"],
            AbTable.Of(["base", "atDefault"], bursts).Skip(2));
    }

    private static AbBurst Burst(string variant, int round, double nginxMs) =>
        new(variant, round, new CpuUse(nginxMs, 2 * nginxMs, nginxMs), P50Ms: 0.5, P99Ms: 2);
}
