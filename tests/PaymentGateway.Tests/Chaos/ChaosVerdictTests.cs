namespace PaymentGateway.Tests.Chaos;

public sealed class ChaosVerdictTests
{
    [Theory]
    [InlineData(20, 0)]
    [InlineData(21, 1)]
    public void A_dead_processor_that_is_called_too_often_fails_the_run(int perSecond, int problems) => Assert.Equal(
        problems,
        new ChaosVerdict(TimeSpan.Zero, []).Judge(
            [new ChaosDeadCalls(ChaosStep.Default, perSecond, [10 * perSecond])]).Problems.Count);
}
