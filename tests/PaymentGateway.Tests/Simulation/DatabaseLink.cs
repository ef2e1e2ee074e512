using System.Buffers.Binary;
using System.Runtime.InteropServices;

namespace PaymentGateway.Tests.Simulation;

/// <summary>
/// One connection of an instance to PostgreSQL, in the schedule's hands: a statement waits here until it is executed,
/// and its answer until it is delivered. Everything blocks, and one statement runs at a time.
/// </summary>
/// <param name="unnoticed">Where it adds itself when its instance has something to read.</param>
internal sealed class DatabaseLink(
    Socket client, SimulatedDatabase database, int number, List<DatabaseLink> unnoticed) : IDisposable
{
    private static readonly byte[] Begin = Query("BEGIN");
    private static readonly byte[] Commit = Query("COMMIT");
    private static readonly byte[] Rollback = Query("ROLLBACK");

    // CommandComplete "SET" and ReadyForQuery.
    private const int AnswerToSet = 15;

    private readonly MemoryStream _request = new();
    private SimulatedDatabase.Backend? _backend;
    private byte[]? _answer;
    private int _statements;
    private bool _isAwaited; // The instance reads from it.
    private char _state = 'I'; // T in a transaction, E in one that has failed and takes only its end.

    public int Number => number;

    /// <summary>The text of the statement that waits or was executed last.</summary>
    public string Sql { get; private set; } = "";

    /// <summary>A statement is here that was not executed.</summary>
    public bool IsWaiting { get; private set; }

    /// <summary>It is not to be executed yet.</summary>
    public bool IsSlow { get; set; }

    /// <summary>It was to be executed later.</summary>
    public bool WasSlow { get; set; }

    /// <summary>Its statement is at the server, and executed later though nobody may be there for the answer.</summary>
    public bool IsDelayed { get; set; }

    /// <summary>A statement was executed and its transaction is open.</summary>
    public bool IsUncommitted { get; private set; }

    /// <summary>How many rows the last statement has answered.</summary>
    public int RowsAnswered { get; private set; }

    public bool IsClosed { get; private set; }

    /// <summary>Its socket; -1 after its end.</summary>
    public int Descriptor => IsClosed ? -1 : (int)client.Handle;

    /// <summary>
    /// Whether the instance has read all bytes, or has closed its end of a connection that broke while it was reading.
    /// </summary>
    public bool IsNoticed()
    {
        if (!IsClosed)
            return Ioctl((int)client.Handle, BytesUnread, out var unread) != 0 || unread == 0;
        if (!_isAwaited)
            return true;

        while (client.Poll(0, SelectMode.SelectRead))
        {
            if (Receive(new byte[8192]) > 0)
                continue;

            client.Dispose();
            return true;
        }

        return false;
    }

    /// <summary>Reads what the instance has sent.</summary>
    /// <returns>True when anything has changed.</returns>
    public bool Read()
    {
        if (IsClosed || !client.Poll(0, SelectMode.SelectRead))
            return false;

        var buffer = new byte[8192];
        var count = Receive(buffer);
        if (count == 0)
        {
            Dispose();
            return true;
        }

        _request.Write(buffer, 0, count);
        if (_backend is null)
            Greet();
        else
            Understand();
        return true;
    }

    /// <summary>Executes the statement that waits; its answer stays here.</summary>
    /// <param name="commits">False: its transaction stays open.</param>
    public void Execute(bool commits = true)
    {
        IsWaiting = WasSlow = false;
        database.Changes += StatementNames.KeepsPayments(Sql) ? 0 : 1;
        var (backend, now) = (_backend!, database.Now);
        // One round trip; the answer to the first statement is none of the instance's.
        try
        {
            if (!commits)
                backend.Ask(Begin, 1);
            _answer = _state == 'E' || backend.Time == now
                ? backend.Ask(_request.ToArray(), _statements)
                : backend.Ask([.. SetTime(now), .. _request.ToArray()], _statements + 1)[AnswerToSet..];
            backend.Time = commits && _state == 'I' ? now : null;
        }
        catch (Exception ended) when (ended is IOException or SocketException)
        {
            // PostgreSQL ends a transaction that is idle for long.
            Dispose();
            return;
        }

        _state = (char)_answer[^1];
        RowsAnswered = RowsOf(_answer);
        IsUncommitted = !commits;
        _request.SetLength(0);
    }

    /// <summary>Ends a transaction that was left open, though nobody may be there for the answer.</summary>
    /// <param name="commits">False: it is lost, and answered all the same.</param>
    public void End(bool commits = true)
    {
        if (!IsUncommitted)
            return;

        IsUncommitted = false;
        database.Changes++;
        _backend!.Ask(commits ? Commit : Rollback, 1);
        // The instance has begun no transaction: its statement ended one.
        _answer![^1] = (byte)'I';
        if (IsClosed)
            database.Return(_backend);
    }

    public void Deliver()
    {
        if (!IsClosed && _answer is not null)
            Send(_answer);
        _answer = null;
    }

    /// <summary>Breaks the connection. A transaction that was left open ends by <see cref="End"/>.</summary>
    public void Dispose()
    {
        if (IsClosed)
            return;

        IsClosed = true;
        if (_isAwaited)
        {
            client.Shutdown(SocketShutdown.Send);
            unnoticed.Add(this);
        }
        else
            client.Dispose();
        if (!IsDelayed)
            Release();
    }

    /// <summary>Its instance waits no longer.</summary>
    public void DisposeIfDelayed()
    {
        if (IsDelayed)
            Dispose();
    }

    /// <summary>Executes what was delayed, if nobody waits for it any more.</summary>
    /// <param name="isLost">The server has ended meanwhile.</param>
    public void EndDelay(bool isLost)
    {
        (IsDelayed, IsSlow) = (false, false);
        if (!IsClosed)
            return;

        if (!isLost)
            Execute();
        Release();
    }

    private void Send(byte[] bytes)
    {
        client.Send(bytes);
        _isAwaited = false;
        unnoticed.Add(this);
    }

    // None after its end.
    private int Receive(byte[] buffer)
    {
        try
        {
            return client.Receive(buffer);
        }
        catch (SocketException)
        {
            return 0;
        }
    }

    private void Release()
    {
        IsWaiting = false;
        if (_backend is not null && !IsUncommitted)
            database.Return(_backend);
    }

    /// <summary>The answer of a server to so many statements, whole.</summary>
    public static byte[] ReadAnswers(Socket server, int statements)
    {
        var answer = new MemoryStream();
        var buffer = new byte[16384];
        for (var at = 0; statements > 0;)
        {
            var count = server.Receive(buffer);
            if (count == 0)
                throw new IOException("PostgreSQL has closed a connection");
            answer.Write(buffer, 0, count);
            var bytes = answer.GetBuffer().AsSpan(0, (int)answer.Length);
            while (at + 5 <= bytes.Length && at + 1 + BinaryPrimitives.ReadInt32BigEndian(bytes[(at + 1)..]) is var end
                   && end <= bytes.Length)
            {
                if (bytes[at] == 'Z')
                    statements--;
                at = end;
            }
        }

        return answer.ToArray();
    }

    // DataRow messages.
    private static int RowsOf(ReadOnlySpan<byte> answer)
    {
        var rows = 0;
        for (var at = 0; at + 5 <= answer.Length;
            at += 1 + BinaryPrimitives.ReadInt32BigEndian(answer[(at + 1)..]))
            rows += answer[at] == 'D' ? 1 : 0;
        return rows;
    }

    private static byte[] SetTime(DateTime now) =>
        Query($"SET sim.now = '{now.ToString("O", CultureInfo.InvariantCulture)}'");

    public static byte[] Query(string sql)
    {
        var message = new byte[sql.Length + 6];
        message[0] = (byte)'Q';
        BinaryPrimitives.WriteInt32BigEndian(message.AsSpan(1), sql.Length + 5);
        Encoding.ASCII.GetBytes(sql, message.AsSpan(5));
        return message;
    }

    // The first message of a connection has no type. That of a cancellation is ignored, as if it had come too late.
    private void Greet()
    {
        var startup = _request.ToArray();
        _request.SetLength(0);
        if (BinaryPrimitives.ReadInt32BigEndian(startup.AsSpan(4)) != 196608)
        {
            Dispose();
            return;
        }

        _backend = database.Take(startup);
        Send(_backend.Greeting);
    }

    // A statement is whole when the last message asks for an answer.
    private void Understand()
    {
        var bytes = _request.GetBuffer().AsSpan(0, (int)_request.Length);
        _statements = 0;
        var isWhole = false;
        for (var at = 0; at + 5 <= bytes.Length;)
        {
            var end = at + 1 + BinaryPrimitives.ReadInt32BigEndian(bytes[(at + 1)..]);
            if (end > bytes.Length)
                return;

            var type = (char)bytes[at];
            var texts = Encoding.UTF8.GetString(bytes[(at + 5)..end]).Split('\0', 3);
            if (type == 'X')
            {
                Dispose();
                return;
            }

            if (type == 'P')
                _backend!.Statements[texts[0]] = Sql = texts[1];
            else if (type == 'B')
                Sql = _backend!.Statements.GetValueOrDefault(texts[1], "");
            else if (type == 'Q')
                Sql = texts[0];
            isWhole = type is 'S' or 'Q';
            _statements += isWhole ? 1 : 0;
            at = end;
        }

        IsWaiting = _isAwaited = isWhole;
    }

    /// <summary>Whether any of some sockets has something to read, or has ended: one call for all of them.</summary>
    public static bool AnyIsReadable(IEnumerable<int> descriptors)
    {
        var polled = descriptors.Select(one => new Polled { Descriptor = one, Events = Readable }).ToArray();
        return Poll(polled, (nuint)polled.Length, 0) != 0;
    }

    private const short Readable = 1;

    [StructLayout(LayoutKind.Sequential)]
    private struct Polled
    {
        public int Descriptor;
        public short Events;
        public short Answer;
    }

    [DllImport("libc", EntryPoint = "poll")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Poll([In, Out] Polled[] polled, nuint count, int milliseconds);

    private const nuint BytesUnread = 0x5411;

    [DllImport("libc", EntryPoint = "ioctl")]
    [DefaultDllImportSearchPaths(DllImportSearchPath.SafeDirectories)]
    private static extern int Ioctl(int file, nuint request, out int value);
}
