using System.Data.Common;
using Npgsql;

#if DAPPER_AOT
[module: Dapper.DapperAot]
#endif

namespace PaymentGateway.Recording;

/// <summary>The named parameters of a statement: what Dapper reads from properties, said without reflection.</summary>
internal interface ISqlArgs
{
    void AddTo(NpgsqlParameterCollection parameters);
}

/// <summary>A row that reads itself by the statement's column order.</summary>
internal interface ISqlRow<out TSelf> where TSelf : ISqlRow<TSelf>
{
    static abstract TSelf Read(DbDataReader row);
}
