using System.Buffers;

namespace PaymentGateway.Tests.Accepting;

/// <summary>A piece of a body, as a body arrives that does not come at once.</summary>
internal sealed class BodyPiece : ReadOnlySequenceSegment<byte>
{
    private BodyPiece(ReadOnlyMemory<byte> memory, BodyPiece? before)
    {
        Memory = memory;
        if (before is null)
            return;
        RunningIndex = before.RunningIndex + before.Memory.Length;
        before.Next = this;
    }

    public static ReadOnlySequence<byte> Cut(ReadOnlyMemory<byte> body, int at)
    {
        var first = new BodyPiece(body[..at], null);
        var last = new BodyPiece(body[at..], first);
        return new ReadOnlySequence<byte>(first, 0, last, body.Length - at);
    }
}
