using System.Runtime.Versioning;

// As the gateway itself: Unix sockets and their modes.
[assembly: SupportedOSPlatform("linux")]
