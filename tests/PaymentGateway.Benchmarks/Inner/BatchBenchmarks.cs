using BenchmarkDotNet.Attributes;
using PaymentGateway.Accepting;
using PaymentGateway.Storage;

namespace PaymentGateway.Benchmarks.Inner;

/// <summary>
/// What a group commit and a batch of outcomes make before Dapper takes over: the arrays of a whole batch, and the
/// waiting entry of one request. Divide the batches' bytes by the size.
/// </summary>
public class BatchBenchmarks
{
    private static readonly DateTime Noon = new(2025, 7, 15, 12, 0, 0, DateTimeKind.Utc);

    private Guid[] _ids = [];

    /// <summary>One is what a batch is at a low rate, 500 the largest.</summary>
    [Params(1, 32, 500)]
    public int Size { get; set; }

    [GlobalSetup]
    public void MakeIds() => _ids = Enumerable.Range(0, Size).Select(_ => Guid.NewGuid()).ToArray();

    [Benchmark]
    public int StoreBatch()
    {
        var args = new StoreArgs(new Guid[Size], new long[Size], new DateTime[Size], 1);
        for (var i = 0; i < Size; i++)
            (args.Ids[i], args.AmountsCents[i], args.AcceptedAts[i]) = (_ids[i], 1990, Noon);
        return args.Ids.Length;
    }

    [Benchmark]
    public int RecordBatch()
    {
        var args = new RecordArgs(
            new Guid[Size], new short[Size], new long[Size], new DateTime[Size], new DateTime[Size], new short[Size],
            1);
        for (var i = 0; i < Size; i++)
            (args.Ids[i], args.Processors[i], args.AmountsCents[i], args.RequestedAts[i], args.AcceptedAts[i]) =
                (_ids[i], 1, 1990, Noon, Noon);
        return args.Ids.Length;
    }

    /// <summary>Both lists of a batch: the acceptances that wait, and their answers.</summary>
    [Benchmark]
    public int PendingAcceptances()
    {
        var batch = new List<PendingAcceptance>();
        foreach (var id in _ids)
            batch.Add(new PendingAcceptance(id, 1990, 0));
        PendingAcceptance.CompleteAll(batch, AcceptResult.Accepted);
        return batch.Count;
    }
}
