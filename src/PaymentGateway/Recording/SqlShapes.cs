using System.Data.Common;
using Npgsql;

#if DAPPER_AOT
[module: Dapper.DapperAot]
#endif

namespace PaymentGateway.Recording;

/// <summary>The named parameters of a statement: what Dapper reads from properties, said without reflection.</summary>
internal interface ISqlArgs
{
    void AddTo(SqlParameters parameters);
}

/// <summary>
/// The parameters of a command, taken in their order: made at first, and given their next values when it is kept.
/// </summary>
internal struct SqlParameters(NpgsqlParameterCollection parameters)
{
    private int count;

    public void Add<T>(string name, T value)
    {
        if (count < parameters.Count)
            ((NpgsqlParameter<T>)parameters[count]).TypedValue = value;
        else
            parameters.Add(new NpgsqlParameter<T>(name, value));
        count++;
    }
}

/// <summary>A row that reads itself by the statement's column order.</summary>
internal interface ISqlRow<out TSelf> where TSelf : ISqlRow<TSelf>
{
    static abstract TSelf Read(DbDataReader row);
}
