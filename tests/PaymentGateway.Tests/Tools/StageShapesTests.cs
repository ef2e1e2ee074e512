namespace PaymentGateway.Tests.Tools;

public sealed class StageShapesTests
{
    private const string Head = "from,to,defaultDelay,defaultFailing,fallbackDelay,fallbackFailing";

    [Theory]
    [InlineData("20.00,30.00,100,1,0,0", "#fae0e2", @"default fails\nfallback ok")]
    [InlineData("30.00,40.00,2000,1,1000,1", "#f2c4c8", @"default fails\nfallback fails")]
    [InlineData("10.00,20.00,100,0,0,0", "#fdf1d8", @"default 100 ms\nfallback ok")]
    [InlineData("50.00,60.00,0,0,5000,0", "#eef3fa", @"default ok\nfallback 5000 ms")]
    [InlineData("150.00,180.00,0,0,5,1", "#eef3fa", @"default ok\nfallback fails")]
    public async Task A_stage_with_trouble_has_a_colour_and_a_label(string stage, string colour, string words)
    {
        var times = stage.Split(',');

        var shapes = await ShapesAsync(Head, stage);

        Assert.Equal(
            [$"set object 2 rect from {times[0]}, graph 0 to {times[1]}, graph 1 behind fc rgb \"{colour}\" fs solid "
                + "noborder",
                $"set label 101 \"{words}\" at {times[0]}, graph 1 offset 0.4,1.6 font \"DejaVu Sans,8\" "
                + "textcolor rgb \"#5c626b\""],
            shapes);
    }

    [Theory]
    [InlineData(12, 12)]
    [InlineData(13, 0)]
    public async Task Stages_without_trouble_have_labels_alone_while_these_fit_beside_each_other(int stages, int labels)
    {
        var table = Enumerable.Range(0, stages).Select(at => $"{at}.00,{at + 1}.00,20,0,20,0").Prepend(Head);

        Assert.Equal(labels, (await ShapesAsync([.. table])).Length);
    }

    private static async Task<string[]> ShapesAsync(params string[] table)
    {
        var shapes = await Shell.RunAsync(
            ["awk", "-f", PaymentGateway.Tools.Repository.PathOf("gatling", "plot", "stages.awk")],
            input: string.Join('\n', table) + "\n");
        return shapes.Output.Split('\n', StringSplitOptions.RemoveEmptyEntries);
    }
}
