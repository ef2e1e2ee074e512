namespace PaymentGateway.Tests.Storage;

/// <summary>A statement, or a pair of its parentheses: a number stands for each inner part.</summary>
internal sealed class SqlPart
{
    private static readonly Regex Comment = new("--.*");
    private static readonly Regex Token = new(@"'(?:[^']|'')*'|[\w@.]+|::|\S");
    private static readonly Regex Query = new(@"^(SELECT|WITH)\b");
    private static readonly Regex Number = new(@"\((\d+)\)");
    private static readonly Regex Named = new(@"\b\w+ AS \(\d+\)");

    private readonly List<SqlPart> _inner = [];

    private SqlPart()
    {
    }

    public string Own { get; private set; } = "";

    public IReadOnlyList<SqlPart> Inner => _inner;

    public bool IsQuery => Query.IsMatch(Own);

    /// <summary>This one, and every part within it.</summary>
    public IEnumerable<SqlPart> All => _inner.SelectMany(part => part.All).Prepend(this);

    /// <summary>The inner parts but for the queries that stand before the statement by a name.</summary>
    public IEnumerable<SqlPart> InPlace => _inner.Except(Named.Matches(Own).SelectMany(named => In(named.Value)));

    public static SqlPart Of(string sql)
    {
        var open = new Stack<SqlPart>([new SqlPart()]);
        foreach (var token in Token.Matches(Comment.Replace(sql, "")).Select(match => match.Value))
            if (token == "(")
            {
                var inner = new SqlPart();
                open.Peek()._inner.Add(inner);
                open.Peek().Own += $"({open.Peek()._inner.Count - 1}) ";
                open.Push(inner);
            }
            else if (token == ")")
                open.Pop();
            else
                open.Peek().Own += $"{token} ";

        return open.Single();
    }

    /// <summary>The inner parts that a piece of the own text has.</summary>
    public IEnumerable<SqlPart> In(string piece) => Number.Matches(piece)
        .Select(match => _inner[int.Parse(match.Groups[1].Value, CultureInfo.InvariantCulture)]);

    public bool UsesAny(IEnumerable<string> tables) =>
        tables.Any(table => Follows("FROM|JOIN|USING|UPDATE|INTO", table));

    public bool Changes(IEnumerable<string> tables) => tables.Any(table => Follows("UPDATE|DELETE FROM", table));

    public bool Reads(string table) => Follows("FROM|JOIN|USING", table);

    private bool Follows(string words, string table) => Regex.IsMatch(Own, $@"\b({words}) {table}\b");
}
