using System.Diagnostics;

namespace PaymentGateway.Tools.Measuring.Load;

/// <summary>What came of a load; the times are of the answers after its first seconds.</summary>
internal sealed record LoadResult(
    int Sent, int Accepted, int Failed, double P50Ms, double P99Ms, double MaxMs, double Seconds);

/// <summary>
/// Calls at a fixed rate, however slow the answers are, each timed from the moment at which it was due. So an answer
/// that stalls makes the ones behind it late in the figures too (no coordinated omission).
/// </summary>
internal static class FixedRate
{
    // nginx takes 1,024 connections; what would make more than this wait is counted as failed and not sent.
    private const int InFlightMax = 900;

    // The first seconds compile the generator's own code; their answers are not counted.
    private const double LeadSeconds = 2;

    /// <summary>Runs for the seconds after the lead, or until the end is asked for, which is no failure.</summary>
    public static async Task<LoadResult> RunAsync(
        Uri gateway, double perSecond, double seconds, ICall call, CancellationToken end)
    {
        using var http = new HttpClient(new SocketsHttpHandler
        {
            UseProxy = false,
            UseCookies = false,
            ActivityHeadersPropagator = null,
            MaxConnectionsPerServer = InFlightMax,
        })
        {
            BaseAddress = gateway,
            Timeout = TimeSpan.FromSeconds(10),
        };
        var lead = new Arrivals(http, call, perSecond, LeadSeconds);
        await lead.RunAsync(end);
        var counted = new Arrivals(http, call, perSecond, seconds);
        await counted.RunAsync(end);
        return counted.Result(lead);
    }

    /// <summary>One stretch of arrivals and what came of them.</summary>
    private sealed class Arrivals(HttpClient http, ICall call, double perSecond, double seconds)
    {
        private readonly object _gate = new();
        private readonly List<double> _latenciesMs = [];
        private int _inFlight;
        private int _sent;
        private int _failed;
        private double _elapsed;

        public async Task RunAsync(CancellationToken end)
        {
            var pacer = new Thread(() => Pace(end)) { IsBackground = true, Name = "pacer" };
            pacer.Start();
            while (pacer.IsAlive || Volatile.Read(ref _inFlight) > 0)
                await Task.Delay(5, CancellationToken.None);
        }

        public LoadResult Result(Arrivals lead)
        {
            _latenciesMs.Sort();
            return new LoadResult(
                _sent + lead._sent, _latenciesMs.Count + lead._latenciesMs.Count, _failed + lead._failed,
                Statistics.Percentile(_latenciesMs, 0.50), Statistics.Percentile(_latenciesMs, 0.99),
                Statistics.Percentile(_latenciesMs, 1), _elapsed);
        }

        // A thread of its own: a timer's millisecond would be read as the gateway's.
        private void Pace(CancellationToken end)
        {
            var start = Now;
            while (!end.IsCancellationRequested)
            {
                var due = start + _sent / perSecond * 1000;
                if (due - start >= seconds * 1000)
                    break;

                if (Pause.UntilMs(due - Now))
                    continue;

                _sent++;
                if (Interlocked.Increment(ref _inFlight) > InFlightMax)
                    Note(null);
                else
                    _ = SendAsync(due);
            }

            _elapsed = (Now - start) / 1000;
        }

        private async Task SendAsync(double due)
        {
            // Off the pacer's thread: it must be on time for the next one.
            await Task.Yield();
            try
            {
                using var request = call.Make();
                using var answer = await http.SendAsync(request);
                Note(answer.IsSuccessStatusCode ? Now - due : null);
            }
            catch (Exception broken) when (broken is HttpRequestException or OperationCanceledException)
            {
                Note(null);
            }
        }

        private void Note(double? latencyMs)
        {
            lock (_gate)
            {
                if (latencyMs is { } took)
                    _latenciesMs.Add(took);
                else
                    _failed++;
            }

            Interlocked.Decrement(ref _inFlight);
        }

        private static double Now => Stopwatch.GetTimestamp() * 1000.0 / Stopwatch.Frequency;
    }
}
