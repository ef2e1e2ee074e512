namespace PaymentGateway.Tests;
public sealed class T { [Fact] public void X_is_y() { Assert.True(true); } }
