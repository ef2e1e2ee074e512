using System.Net;
using System.Text.Json;
using PaymentGateway.Leasing;

namespace PaymentGateway.Processors;

/// <summary>
/// The body of one charge, and the last check of whether it may go out: the handler asks for it when it has a
/// connection, and sends the headers together with it.
/// </summary>
internal sealed class ChargeContent : HttpContent
{
    private readonly Payment _payment;
    private readonly Lease _lease;
    private readonly byte[] _body;

    /// <param name="payment">Its id, amount and RequestedAt are sent.</param>
    /// <param name="lease">Without it nothing is sent.</param>
    public ChargeContent(Payment payment, Lease lease)
    {
        _payment = payment;
        _lease = lease;
        _body = JsonSerializer.SerializeToUtf8Bytes(
            new ProcessorPayment(payment.Id, payment.Amount, payment.RequestedAt),
            ProcessorJsonContext.Default.ProcessorPayment);
        Headers.TryAddWithoutValidation("Content-Type", "application/json");
    }

    /// <summary>False: not a byte of the charge has left, headers included.</summary>
    public bool HasBegun { get; private set; }

    protected override Task SerializeToStreamAsync(Stream stream, TransportContext? context) =>
        SerializeToStreamAsync(stream, context, CancellationToken.None);

    protected override Task SerializeToStreamAsync(
        Stream stream, TransportContext? context, CancellationToken cancellationToken)
    {
        if (_payment.Purged || !_lease.IsHeld || !_lease.Owns(_payment))
            throw new OperationCanceledException("The payment is not this instance's to charge any more.");

        HasBegun = true;
        if (_payment.Attempts < short.MaxValue)
            _payment.Attempts++;
        return stream.WriteAsync(_body, cancellationToken).AsTask();
    }

    protected override bool TryComputeLength(out long length)
    {
        length = _body.Length;
        return true;
    }
}
