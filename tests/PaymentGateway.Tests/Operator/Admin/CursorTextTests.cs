using PaymentGateway.Operator.Admin;

namespace PaymentGateway.Tests.Operator.Admin;

public sealed class CursorTextTests
{
    private const int Cases = 1_000;

    [Property(MaxTest = Cases)]
    public void A_cursor_is_read_as_it_was_written(DoNotSize<ulong> any, Guid id)
    {
        var ticks = (long)(any.Item % (ulong)DateTime.MaxValue.Ticks);
        var cursor = new PaymentCursor(Timestamps.Truncate(new DateTime(ticks, DateTimeKind.Utc)), id);

        var text = CursorText.Write(cursor);

        Assert.Equal(cursor, CursorText.TryRead(text));
        Assert.Matches("^[A-Za-z0-9_-]{32}$", text);
        Assert.Equal(DateTimeKind.Utc, CursorText.TryRead(text)!.AcceptedAt.Kind);
    }

    [Property(MaxTest = Cases)]
    public void Any_32_characters_of_the_alphabet_are_no_cursor_or_the_text_of_one(DoNotSize<ulong>[] seeds)
    {
        const string Alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/= ";
        var text = string.Concat(Enumerable.Range(0, 32).Select(at =>
            Alphabet[(int)(seeds.Length == 0 ? 0 : seeds[at % seeds.Length].Item / (ulong)(at + 1)
                % (ulong)Alphabet.Length)]));

        Assert.True(CursorText.TryRead(text) is not { } cursor || CursorText.Write(cursor) == text);
    }

    [Theory]
    [InlineData("gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")]
    [InlineData("f_______AAAAAAAAAAAAAAAAAAAAAAAA")]
    public void A_time_before_or_after_all_times_is_no_cursor(string text) => Assert.Null(CursorText.TryRead(text));
}
