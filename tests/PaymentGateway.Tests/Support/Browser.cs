using System.Reflection;
using Deque.AxeCore.Commons;
using Deque.AxeCore.Playwright;
using Microsoft.Playwright;

namespace PaymentGateway.Tests.Support;

/// <summary>Debian's Chromium without a window, driven by Playwright; what its pages do wrong is noted.</summary>
public sealed class Browser : IAsyncLifetime
{
    private const string Program = "chromium";

    private readonly ConcurrentQueue<string> _faults = new();
    private IPlaywright? _playwright;
    private IBrowser? _chromium;

    public static string? SkipReason { get; } =
        Programs.Has(Program) ? null : "lacks browser: eng/setup browser brings it";

    /// <summary>Errors of the pages' scripts and consoles, and requests to other hosts than the page's own.</summary>
    public IReadOnlyCollection<string> Faults => _faults;

    public async Task InitializeAsync()
    {
        if (SkipReason is not null)
            return;

        // Where the package is: its own node.js is not copied beside the tests.
        Environment.SetEnvironmentVariable(
            "PLAYWRIGHT_DRIVER_SEARCH_PATH",
            typeof(Browser).Assembly.GetCustomAttributes<AssemblyMetadataAttribute>()
                .Single(attribute => attribute.Key == "Playwright").Value);
        _playwright = await Playwright.CreateAsync();
        _chromium = await _playwright.Chromium.LaunchAsync(new BrowserTypeLaunchOptions
        {
            ExecutablePath = Programs.Find(Program),
            Args = ["--disable-dev-shm-usage"],
        });
    }

    /// <summary>Opens a page in a browser of its own, without anybody's cookies.</summary>
    public async Task<IPage> OpenAsync(string address, Look? look = null, string? script = null)
    {
        look ??= Look.Desktop;
        var context = await _chromium!.NewContextAsync(new BrowserNewContextOptions
        {
            ColorScheme = look.IsDark ? ColorScheme.Dark : ColorScheme.Light,
            ViewportSize = new ViewportSize { Width = look.Width, Height = look.Height },
            ReducedMotion = ReducedMotion.Reduce,
        });
        var page = await context.NewPageAsync();
        page.Console += (_, message) =>
        {
            if (message.Type is "error" or "warning")
                _faults.Enqueue($"console: {message.Text}");
        };
        page.PageError += (_, error) => _faults.Enqueue($"script: {error}");
        var own = new Uri(address).GetLeftPart(UriPartial.Authority);
        page.Request += (_, request) =>
        {
            if (!request.Url.StartsWith(own + "/", StringComparison.Ordinal)
                && !request.Url.StartsWith("data:", StringComparison.Ordinal))
                _faults.Enqueue($"another host: {request.Url}");
        };
        if (script is not null)
            await page.AddInitScriptAsync(script);
        await page.GotoAsync(address);
        return page;
    }

    /// <summary>Fails where axe finds that somebody could not use the page.</summary>
    public static async Task IsAccessibleAsync(IPage page) => IsAccessible(await page.RunAxe(), rules: 16);

    public static async Task IsAccessibleAsync(ILocator part) => IsAccessible(await part.RunAxe(), rules: 6);

    private static void IsAccessible(AxeResult found, int rules)
    {
        Assert.True(
            found.Violations.Length == 0,
            string.Join('\n', found.Violations.Select(violation =>
                $"{violation.Id}: {violation.Help}: {string.Join("; ", violation.Nodes.Select(node => node.Html))}")));
        Assert.InRange(found.Passes.Length, rules, int.MaxValue);
    }

    /// <summary>Closes all pages and forgets what they did wrong, for the next test.</summary>
    public async Task CloseAllAsync()
    {
        foreach (var context in _chromium?.Contexts.ToArray() ?? [])
            await context.CloseAsync();
        _faults.Clear();
    }

    public async Task DisposeAsync()
    {
        if (_chromium is not null)
            await _chromium.CloseAsync();
        _playwright?.Dispose();
    }
}

public sealed record Look(int Width, int Height, bool IsDark)
{
    public static Look Desktop { get; } = new(1280, 900, false);

    public static Look Phone { get; } = new(360, 740, false);

    public Look Dark => this with { IsDark = true };
}

public sealed class BrowserFactAttribute()
    : NeedsFactAttribute(WholeSystem, GatewaySystemParts.SkipReason ?? Browser.SkipReason);
