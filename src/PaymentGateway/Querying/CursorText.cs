using System.Buffers.Binary;
using PaymentGateway.Storage;
using PaymentGateway.Timing;

namespace PaymentGateway.Querying;

/// <summary>A cursor as clients carry it: base64url of the microseconds since 1970 and the id, 32 characters.</summary>
internal static class CursorText
{
    private const int Bytes = sizeof(long) + 16;

    public static string Write(PaymentCursor cursor)
    {
        Span<byte> bytes = stackalloc byte[Bytes];
        BinaryPrimitives.WriteInt64BigEndian(bytes, Timestamps.ToMicroseconds(cursor.AcceptedAt));
        cursor.Id.TryWriteBytes(bytes[sizeof(long)..], bigEndian: true, out _);
        return Convert.ToBase64String(bytes).Replace('+', '-').Replace('/', '_');
    }

    /// <returns>Null for what no cursor is.</returns>
    public static PaymentCursor? TryRead(string text)
    {
        Span<byte> bytes = stackalloc byte[Bytes];
        if (text.Length != Bytes / 3 * 4 || text.AsSpan().IndexOfAny('+', '/') >= 0
            || !Convert.TryFromBase64String(text.Replace('-', '+').Replace('_', '/'), bytes, out var read)
            || read != Bytes)
            return null;

        return Timestamps.FromMicroseconds(BinaryPrimitives.ReadInt64BigEndian(bytes)) is { } acceptedAt
            ? new PaymentCursor(acceptedAt, new Guid(bytes[sizeof(long)..], bigEndian: true))
            : null;
    }
}
