using System.Threading.Channels;
using PaymentGateway.Dashboard;

namespace PaymentGateway.Tests.Dashboard;

/// <summary>How events come to those who keep up, and to one who does not.</summary>
public sealed class LiveEventsTests : IDisposable
{
    private readonly LiveEvents _events = new();
    private readonly CancellationTokenSource _end = new();

    public void Dispose() => _end.Dispose();

    [Fact]
    public async Task Each_who_watches_gets_each_event_and_a_slow_one_the_newest_and_nobody_waits_for_that_one()
    {
        var (quick, slow) = (new Reader(), new Reader());
        var sending = new[] { quick, slow }
            .Select(reader => OpsEvents.SendAsync(reader, _events.TryJoin()!.Reader, _end.Token)).ToArray();
        Assert.Equal("retry: 1000\n\n", await quick.NextAsync());
        Assert.Equal("retry: 1000\n\n", await slow.NextAsync());
        slow.Block();

        for (var number = 1; number <= 50; number++)
        {
            _events.Publish(Encoding.UTF8.GetBytes($"{number}"));
            Assert.Equal($"data: {number}\n\n", await quick.NextAsync());
            if (number == 1)
                await slow.Held.WaitAsync(TimeSpan.FromSeconds(20));
        }

        slow.Unblock();
        Assert.Equal("data: 1\n\n", await slow.NextAsync());
        Assert.Equal("data: 50\n\n", await slow.NextAsync());
        _events.Publish("51"u8.ToArray());
        Assert.Equal("data: 51\n\n", await slow.NextAsync());
        await _end.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => sending[0]);
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => sending[1]);
    }

    [Fact]
    public async Task Who_comes_later_gets_only_what_comes_after_that()
    {
        _events.Publish("old"u8.ToArray());
        var reader = new Reader();
        var sending = OpsEvents.SendAsync(reader, _events.TryJoin()!.Reader, _end.Token);
        Assert.Equal("retry: 1000\n\n", await reader.NextAsync());

        _events.Publish("new"u8.ToArray());

        Assert.Equal("data: new\n\n", await reader.NextAsync());
        await _end.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => sending);
    }

    /// <summary>The body of an answer, of which each write is seen.</summary>
    private sealed class Reader : MemoryStream
    {
        private readonly Channel<string> _written = Channel.CreateUnbounded<string>();
        private readonly TaskCompletionSource _held = new(TaskCreationOptions.RunContinuationsAsynchronously);
        private volatile TaskCompletionSource? _blocked;

        /// <summary>Ends when a write is blocked.</summary>
        public Task Held => _held.Task;

        public void Block() => _blocked = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);

        public void Unblock()
        {
            _blocked!.SetResult();
            _blocked = null;
        }

        public async Task<string> NextAsync() =>
            await _written.Reader.ReadAsync().AsTask().WaitAsync(TimeSpan.FromSeconds(20));

        public override async ValueTask WriteAsync(
            ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            var text = Encoding.UTF8.GetString(buffer.Span);
            if (_blocked is { } blocked)
            {
                _held.TrySetResult();
                await blocked.Task.WaitAsync(cancellationToken);
            }

            await _written.Writer.WriteAsync(text, cancellationToken);
        }
    }
}
