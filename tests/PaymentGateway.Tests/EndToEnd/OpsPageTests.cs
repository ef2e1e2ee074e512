using Microsoft.Playwright;

namespace PaymentGateway.Tests.EndToEnd;

/// <summary>The page /ops of the published binaries through nginx, in a real browser.</summary>
/// <remarks>OPS_PICTURE=docs/ops.png has the test of the outage write the picture of the README.</remarks>
[Collection(OneAfterAnother.Name)]
public sealed class OpsPageTests(RunningSystem running, Browser browser)
    : OnRunningSystem(running), IClassFixture<Browser>
{
    private const string Token = "5f0c9a7e21d84b36";
    private const string Outage = "Processor default fails";

    private const string NameOfField = """
        field => field.id || `${field.dataset.of} of ${field.closest("article").querySelector("span").textContent}`
        """;

    // Notes of each event what the page showed once it had handled it.
    private const string Noting = """
        window.noted = [];
        window.EventSource = class extends EventSource {
          set onmessage(handle) {
            super.onmessage = message => {
              handle(message);
              const { at, answeredBy, processors: [first] } = JSON.parse(message.data);
              const fails = first.availability === "unusable" || first.circuit !== "closed";
              noted.push({ at, answeredBy, fails, notices: document.getElementById("notices").textContent });
            };
          }
        };
        """;

    // The events are the test's, and what is written into the charts is noted.
    private const string Faking = """
        window.EventSource = class {
          static CLOSED = 2;
          constructor() { window.source = this; }
        };
        window.texts = [];
        const fill = CanvasRenderingContext2D.prototype.fillText;
        CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
          texts.push(text);
          return fill.call(this, text, ...at);
        };
        """;

    private const string Opacity = "getComputedStyle(document.querySelector('main')).opacity";

    private static readonly JsonSerializerOptions Web = new(JsonSerializerDefaults.Web);

    // Contrast is a matter of the colours, and room one of the width: each of the four occurs once.
    private static readonly Look[] Looks = [Look.Desktop, Look.Phone.Dark];

    public override Task DisposeAsync() => browser.CloseAllAsync();

    [BrowserFact]
    public async Task Its_numbers_move_under_load_and_an_outage_shows_and_its_end_and_no_other_host_is_asked()
    {
        var page = await browser.OpenAsync(AddressOf(System), script: Noting);
        await ShowsAsync(page, "#connection", "Live");
        await ShowsAsync(page, "#instances tr:nth-child(2) th", "api2");
        await using var load = new Load(System);

        await NumberAsync(page, "#accepted", value => value > 1);
        await NumberAsync(page, "#settled", value => value > 1);
        await NumberAsync(page, "[data-of=payments] >> nth=0", value => value > 20);
        Assert.EndsWith(" ms", await page.InnerTextAsync("#accept-p99"), StringComparison.Ordinal);
        await page.ClickAsync("summary >> nth=0");
        await page.WaitForSelectorAsync(".chart >> nth=0 >> tbody tr:nth-child(3)");
        await page.ClickAsync("summary >> nth=0");

        await System.Default.SetFailureAsync(true);
        var known = await KnownAsync(System, (await NotedAsync(page))[^1].AnsweredBy);
        List<Noted> since = [];
        await Eventually.HoldsAsync(
            async () => (since = (await NotedAsync(page)).FindAll(view => view.At > known)).Count >= 3,
            "three events have come since the instance knows of the outage");
        // The instance may have read the state for the first event before it knew; it reads again for each further one.
        Assert.All(since.Skip(1), view => Assert.Contains(Outage, view.Notices, StringComparison.Ordinal));
        await ShowsAsync(page, "#news", Outage);
        await NumberAsync(page, "#backlog", value => value > 50);
        await WritePictureAsync(page, System);
        await System.Default.SetFailureAsync(false);
        await GoneAsync(page, "#notices li");
        // An event shows at once that an outage began or ended.
        Assert.All(await NotedAsync(page), view => Assert.Equal(
            view.Fails, view.Notices.Contains(Outage, StringComparison.Ordinal)));
        await ShowsAsync(page, "[data-of=availability] >> nth=0", "Usable");

        Assert.Empty(browser.Faults);
    }

    [BrowserFact]
    public async Task Every_field_is_filled_and_money_and_fees_are_the_processors_own()
    {
        var page = await browser.OpenAsync(AddressOf(System));
        await using (new Load(System))
        {
            await NumberAsync(page, "[data-of=payments] >> nth=0", value => value > 20);
            await ShowsAsync(page, "[data-of=report] >> nth=0", "fine");
            // Charges and look-ups alike: so payments stay in doubt.
            await System.Default.SetFaultsAsync(new { garbage = true });
            await NumberAsync(page, "#in-doubt", value => value > 0);

            var fields = await page.Locator("#processors [data-of], .tile [id]").AllAsync();
            Assert.Equal(8 + 2 * 12, fields.Count);
            foreach (var field in fields)
            {
                var name = await field.EvaluateAsync<string>(NameOfField);
                // Fallback was never called.
                if (name != "durations of fallback")
                    await Eventually.HoldsAsync(
                        async () => await field.TextContentAsync() is not ("" or "–" or "none yet"),
                        $"{name} is filled");
            }

            await System.Default.ClearFaultsAsync();
        }

        await Eventually.HoldsAsync(System.IsIdleAsync, "everything is settled");
        var settled = await System.Default.SummariseAsync();
        await IsAsync(page, "[data-of=payments] >> nth=0", $"{settled.TotalRequests:N0}");
        await IsAsync(page, "[data-of=amount] >> nth=0", $"{settled.TotalAmount:N2}");
        await IsAsync(page, "[data-of=fees] >> nth=0", $"{settled.TotalAmount * settled.FeePerTransaction:N2}");
        Assert.Empty(browser.Faults);
    }

    [BrowserFact]
    public async Task Everybody_can_use_it_on_a_desktop_and_on_a_phone_in_the_light_and_in_the_dark()
    {
        await ParkAsync(System, 3);
        await System.Default.SetFailureAsync(true);
        await using var load = new Load(System);

        foreach (var look in Looks)
        {
            var page = await browser.OpenAsync(AddressOf(System), look);
            await ShowsAsync(page, "#notices", Outage);
            await page.WaitForSelectorAsync("#parked-rows button");
            foreach (var summary in await page.QuerySelectorAllAsync("summary"))
                await summary.ClickAsync();
            await Browser.IsAccessibleAsync(page);
            var button = (await page.Locator("#parked-rows button").First.BoundingBoxAsync())!;
            Assert.InRange(button.X + button.Width, 0, look.Width);
            Assert.Equal(
                look.Width, await page.EvaluateAsync<int>("document.documentElement.scrollWidth"));
            await page.ClickAsync("#replay-all");
            // All else is behind it.
            await Browser.IsAccessibleAsync(page.Locator("dialog[open]"));
            await page.Context.CloseAsync();
        }

        Assert.Empty(browser.Faults);
    }

    [BrowserFact]
    public async Task Parked_payments_are_replayed_by_the_keyboard_alone_one_and_then_all()
    {
        await ParkAsync(System, 3);
        var page = await browser.OpenAsync(AddressOf(System));
        await page.WaitForSelectorAsync("#parked-rows button");
        Assert.Equal("3", await page.InnerTextAsync("#parked-count"));
        await IsAsync(page, "#parked-rows tr:first-child td:nth-child(5)", "2025-07-15 12:00:00");

        await TabToAsync(page, "Replay all");
        await page.Keyboard.PressAsync("Enter");
        await page.WaitForSelectorAsync("dialog[open]");
        await page.Keyboard.PressAsync("Escape");
        await page.WaitForSelectorAsync("dialog:not([open])", new() { State = WaitForSelectorState.Attached });
        await TabToAsync(page, "Replay");
        await page.Keyboard.PressAsync("Enter");
        await ShowsAsync(page, "#parked-count", "2");
        await ShowsAsync(page, "#replayed", "Replayed");

        await TabToAsync(page, "Replay all", backwards: true);
        await page.Keyboard.PressAsync("Enter");
        await TabToAsync(page, "Replay");
        await page.Keyboard.PressAsync("Enter");
        await ShowsAsync(page, "#parked-count", "0");
        await ShowsAsync(page, "#parked-none", "None");
        await ShowsAsync(page, "#replayed", "Replayed 2. In doubt until");
        Assert.Equal("replayed", await FocusedAsync(page));

        Assert.Equal(0, await System.Database.CountAsync("payments WHERE owner_epoch = -1"));
        Assert.Equal(3, await System.Database.CountAsync("payments"));
        Assert.Empty(browser.Faults);
        // The next test does not wait until they are settled.
        using var purged = await System.Client.PostAsync("purge-payments", null);
    }

    [BrowserFact]
    public async Task With_a_token_the_form_opens_it_and_scripts_cannot_read_the_session_and_it_can_be_ended()
    {
        await using var system = await GatewaySystem.UpAsync(("TOKEN", Token));
        await ParkAsync(system, 1);
        var page = await browser.OpenAsync(AddressOf(system));
        Assert.EndsWith("/ops/sign-in", page.Url, StringComparison.Ordinal);
        await Browser.IsAccessibleAsync(page);

        await page.FillAsync("#token", "wrong");
        await page.Keyboard.PressAsync("Enter");
        await page.WaitForSelectorAsync(".wrong:visible");
        await Browser.IsAccessibleAsync(page);
        Assert.Equal("token", await FocusedAsync(page));
        await page.FillAsync("#token", Token);
        await page.Keyboard.PressAsync("Enter");
        await ShowsAsync(page, "#connection", "Live");

        var cookie = Assert.Single(await page.Context.CookiesAsync());
        Assert.True(cookie is { HttpOnly: true, SameSite: SameSiteAttribute.Strict, Path: "/ops", Secure: false });
        Assert.DoesNotContain(Token, cookie.Value, StringComparison.Ordinal);
        Assert.Equal("", await page.EvaluateAsync<string>("document.cookie"));
        await page.ClickAsync("#parked-rows button");
        await ShowsAsync(page, "#parked-count", "0");

        await page.ClickAsync("#sign-out button");
        await page.WaitForSelectorAsync("#token");
        Assert.Empty(await page.Context.CookiesAsync());
        Assert.Empty(browser.Faults);
    }

    [BrowserFact]
    public async Task Nothing_is_claimed_or_drawn_that_nobody_measured_and_old_numbers_fade()
    {
        await using var events = await EventReader.StartAsync(System.Client);
        var view = JsonNode.Parse((await events.NextAsync())!)!;
        foreach (var none in (string[])["acceptedPerSecond", "settledPerSecond", "inDoubt"])
            view[none] = 0;
        view["backlog"]!["payments"] = 1;
        foreach (var measured in view["processors"]!.AsArray().Select(one => one!["calls"]!).Append(view["accepts"]!))
            measured["p99"] = null;
        var page = await browser.OpenAsync(AddressOf(System), script: Faking);

        await ShowAsync(second: 0, database: false);
        await IsAsync(page, "#parked-none", "Unknown: PostgreSQL does not answer.");
        await page.EvaluateAsync("texts.length = 0");
        await ShowAsync(second: 1, database: true);
        await ShowsAsync(page, "#parked-none", "None");
        string[] labels = [];
        await Eventually.HoldsAsync(
            async () => (labels = await page.EvaluateAsync<string[]>("texts.filter(text => !text.includes(':'))"))
                .Length >= 6,
            "the axes are drawn");
        Assert.Equal(["0", "1.0", "0 ms", "1 ms", "0", "1"], labels[^6..]);

        await ShowAsync(second: 20, database: true);
        await page.ClickAsync("summary >> nth=0");
        await IsAsync(page, ".chart >> nth=0 >> tbody tr:nth-child(1) td:nth-child(2)", "0");
        await IsAsync(page, ".chart >> nth=0 >> tbody tr:nth-child(2) td:nth-child(2)", "–");

        Assert.Equal("0.5", await page.EvaluateAsync<string>($"() => {{ source.onerror(); return {Opacity}; }}"));
        Assert.Equal("1", await ShowAsync(second: 21, database: true));
        Assert.Empty(browser.Faults);

        Task<string> ShowAsync(int second, bool database)
        {
            view["at"] = $"2025-07-15T12:00:{second:00}.000000Z";
            view["database"] = database;
            view["parked"] = database ? JsonNode.Parse("""{"payments":0,"isMore":false,"reasons":[]}""") : null;
            return page.EvaluateAsync<string>(
                $"text => {{ source.onmessage({{ data: text }}); return {Opacity}; }}", view.ToJsonString());
        }
    }

    private static Task<string> FocusedAsync(IPage page) =>
        page.EvaluateAsync<string>("document.activeElement.id");

    private static string AddressOf(GatewaySystem system) => new Uri(system.Address, "ops").ToString();

    private static Task ParkAsync(GatewaySystem system, int payments) => system.Database.ExecuteAsync($"""
        INSERT INTO payments
            (correlation_id, amount_cents, accepted_at, owner_epoch, may_be_at, parked_reason, parked_at)
        SELECT gen_random_uuid(), 123456, clock_timestamp(), -1, 2, 'default answered 400', '2025-07-15T12:00:00Z'
        FROM generate_series(1, {payments})
        """);

    private static Task ShowsAsync(IPage page, string selector, string text) => Eventually.HoldsAsync(
        async () => (await page.Locator(selector).TextContentAsync())!.Contains(text, StringComparison.Ordinal),
        $"{selector} shows {text}");

    private static Task IsAsync(IPage page, string selector, string text) => Eventually.HoldsAsync(
        async () => await page.Locator(selector).TextContentAsync() == text, $"{selector} is {text}");

    // Since when, at the latest, this instance itself says that default's circuit is not closed.
    private static async Task<DateTime> KnownAsync(GatewaySystem system, string instance)
    {
        var client = instance == GatewaySystem.First ? system.Api1 : system.Api2;
        await Eventually.HoldsAsync(
            async () => Prometheus.Read(await client.GetStringAsync("metrics"))[
                "payment_gateway_processor_circuit{processor=\"default\",state=\"closed\"}"] == 0,
            $"{instance} knows of the outage");
        return DateTime.UtcNow;
    }

    private static async Task<List<Noted>> NotedAsync(IPage page) => JsonSerializer.Deserialize<List<Noted>>(
        await page.EvaluateAsync<string>("JSON.stringify(noted)"), Web)!;

    private static Task GoneAsync(IPage page, string selector) => Eventually.HoldsAsync(
        async () => await page.Locator(selector).CountAsync() == 0, $"{selector} is gone");

    private static Task NumberAsync(IPage page, string selector, Predicate<double> isWanted) => Eventually.HoldsAsync(
        async () => double.TryParse(
                await page.Locator(selector).TextContentAsync(), NumberStyles.Any, CultureInfo.InvariantCulture,
                out var value) && isWanted(value),
        $"{selector} shows such a number");

    // Presses until the element has the focus, which must be visible.
    private static async Task TabToAsync(IPage page, string name, bool backwards = false)
    {
        for (var steps = 0; steps < 60; steps++)
        {
            await page.Keyboard.PressAsync(backwards ? "Shift+Tab" : "Tab");
            var focused = await page.EvaluateAsync<string[]>(
                "[document.activeElement.textContent, getComputedStyle(document.activeElement).outlineStyle]");
            if (focused[0] != name)
                continue;

            Assert.Equal("solid", focused[1]);
            return;
        }

        Assert.Fail($"The keyboard does not reach {name}.");
    }

    // An outage, its end and the next one.
    private static async Task WritePictureAsync(IPage page, GatewaySystem system)
    {
        if (Environment.GetEnvironmentVariable("OPS_PICTURE") is not { Length: > 0 } path)
            return;

        await page.WaitForTimeoutAsync(12_000);
        await system.Default.SetFailureAsync(false);
        await page.WaitForTimeoutAsync(45_000);
        await system.Default.SetFailureAsync(true);
        await page.WaitForTimeoutAsync(12_000);
        await page.ScreenshotAsync(new PageScreenshotOptions { Path = path, FullPage = true });
    }

    /// <summary>An event, and the notices that the page showed then.</summary>
    /// <param name="Fails">The event says that default fails.</param>
    private sealed record Noted(DateTime At, string AnsweredBy, bool Fails, string Notices);

    /// <summary>Payments at both instances, as light load through nginx is one's alone; until disposed.</summary>
    /// <remarks>No nginx asks another instance, and a browser takes all the CPU, so clients try again.</remarks>
    private sealed class Load : IAsyncDisposable
    {
        private static readonly LoadRetry Retry = new(Times: 10, TimeSpan.FromMilliseconds(200));

        private readonly LoadLedger _ledger = new();
        private readonly TaskCompletionSource _over = new();
        private readonly Task _paying;

        public Load(GatewaySystem system) => _paying = Task.WhenAll(system.RunningInstances().Select(
            instance => LoadDriver.RunAtRateAsync(instance, _ledger, perSecond: 50, _over.Task, Retry)));

        public async ValueTask DisposeAsync()
        {
            _over.SetResult();
            await _paying;
            Assert.Equal(_ledger.Count, _ledger.Acknowledged);
        }
    }
}
