using System.Runtime.Versioning;

// The system itself runs on Linux only: /proc, Unix sockets between users, setsid.
[assembly: SupportedOSPlatform("linux")]
