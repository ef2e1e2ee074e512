namespace PaymentGateway.Tests.Http;

/// <summary>Each keyword that openapi.json uses lets the right values pass, and no others.</summary>
public sealed class JsonSchemaCheckTests
{
    [Theory]
    [InlineData("""{"type":"string"}""", "\"a\"", "1")]
    [InlineData("""{"type":["string","null"]}""", "null", "true")]
    [InlineData("""{"type":"integer"}""", "1.0", "1.5")]
    [InlineData("""{"type":"object"}""", "{}", "[]")]
    [InlineData("""{"const":"a"}""", "\"a\"", "\"b\"")]
    [InlineData("""{"enum":[1,2]}""", "2", "3")]
    [InlineData("""{"required":["a"]}""", """{"a":null}""", "{}")]
    [InlineData("""{"properties":{"a":false}}""", "{}", """{"a":1}""")]
    [InlineData("""{"properties":{"a":{"type":"string"}}}""", """{"a":"","b":1}""", """{"a":1}""")]
    [InlineData("""{"properties":{"a":{}},"additionalProperties":false}""", """{"a":1}""", """{"b":1}""")]
    [InlineData("""{"additionalProperties":{"type":"string"}}""", """{"a":"b"}""", """{"a":1}""")]
    [InlineData("""{"items":{"type":"string"}}""", """["a"]""", """["a",1]""")]
    [InlineData("""{"maxItems":1}""", "[1]", "[1,2]")]
    [InlineData("""{"minLength":1}""", "\"a\"", "\"\"")]
    [InlineData("""{"maxLength":1}""", "\"a\"", "\"ab\"")]
    [InlineData("""{"pattern":"^[0-9]+$"}""", "\"12\"", "\"12\\n\"")]
    [InlineData("""{"format":"uuid"}""", "\"4a7901b8-7d26-4d9d-aa19-4dc1c7cf60b3\"", "\"4a7901b8\"")]
    [InlineData("""{"format":"date-time"}""", "\"2025-07-15T12:34:56.1Z\"", "\"2025-07-15T12:34:56\"")]
    [InlineData("""{"minimum":0.01}""", "0.01", "0.009")]
    [InlineData("""{"maximum":999999999999.99}""", "999999999999.99", "1e400")]
    [InlineData("""{"x-decimals":2}""", "19.90", "19.905")]
    [InlineData("""{"allOf":[{"type":"number"},{"minimum":1}]}""", "1", "0")]
    [InlineData("""{"anyOf":[{"type":"string"},{"minimum":1,"type":"number"}]}""", "1", "0")]
    [InlineData("""{"if":{"required":["a"]},"then":{"required":["b"]}}""", "{}", """{"a":1}""")]
    [InlineData("""{"$ref":"#/other"}""", "\"followed\"", "1")]
    public void A_keyword_lets_the_right_value_pass_and_not_the_wrong_one(string schema, string right, string wrong)
    {
        var check = new JsonSchemaCheck(_ => JsonNode.Parse("""{"const":"followed"}""")!);

        Assert.Empty(check.FaultsOf(JsonNode.Parse(schema), JsonNode.Parse(right)));
        Assert.NotEmpty(check.FaultsOf(JsonNode.Parse(schema), JsonNode.Parse(wrong)));
    }

    [Fact]
    public void A_keyword_that_it_does_not_know_is_an_error() => Assert.Throws<NotSupportedException>(
        () => new JsonSchemaCheck(node => node).FaultsOf(JsonNode.Parse("""{"oneOf":[]}"""), null));
}
