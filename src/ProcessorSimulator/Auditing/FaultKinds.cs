using System.Text.Json;
using System.Text.Json.Serialization;

namespace ProcessorSimulator.Auditing;

/// <summary>What may go wrong between the failure switch and the insert.</summary>
[JsonConverter(typeof(CamelCaseEnumConverter<BeforeInsertFault>))]
internal enum BeforeInsertFault
{
    None,
    Hang,
    Reset,
}

/// <summary>What may go wrong once the payment is stored.</summary>
[JsonConverter(typeof(CamelCaseEnumConverter<AfterInsertFault>))]
internal enum AfterInsertFault
{
    None,
    ErrorBody,
    Reset,
    Hang,
    Garbage,
    Foreign, // 404 with a page, as an ingress without its route gives it.
}

/// <summary>What may go wrong with a health call.</summary>
[JsonConverter(typeof(CamelCaseEnumConverter<HealthFault>))]
internal enum HealthFault
{
    None,
    TooMany,
    Hang,
    Garbage,
    Lie, // The contrary of what is, and no delay.
}

/// <summary>What may go wrong with a look-up; a switch of the contract does nothing to one.</summary>
[JsonConverter(typeof(CamelCaseEnumConverter<LookUpFault>))]
internal enum LookUpFault
{
    None,
    TooMany,
    ErrorBody,
    Garbage,
    Hang,
    NotFound, // 404 whatever is stored.
    Foreign, // The same with a page.
}

/// <summary>Reads and writes a fault by its name, such as errorBody; a number is refused.</summary>
internal sealed class CamelCaseEnumConverter<TEnum>()
    : JsonStringEnumConverter<TEnum>(JsonNamingPolicy.CamelCase, allowIntegerValues: false)
    where TEnum : struct, Enum;
