# Both programs are published by the same script as everywhere (eng/publish: no IL warning is let through), and each
# gets an image with nothing in it but the binary and the native libraries that .NET asks for.
#   docker build --target gateway .        docker build --target simulator .        --build-arg FRAMEWORK=net10.0

# The SDK's newest patch; `-aot` brings clang and zlib. Same Ubuntu as the other, so the same libc.
ARG SDK_IMAGE=mcr.microsoft.com/dotnet/sdk:10.0.403-noble-aot
# .NET 10's image for a .NET 8 program: it holds no .NET, only libc, OpenSSL and the like, and is still patched.
ARG RUNTIME_IMAGE=mcr.microsoft.com/dotnet/runtime-deps:10.0.14-noble-chiseled

FROM ${SDK_IMAGE} AS build
# Such as net10.0; without it the framework is the one of Directory.Build.props. Both scripts and build read it.
ARG FRAMEWORK
# linux-x64 or linux-arm64, as the machine that builds.
ARG RID=linux-x64
# The pages in the binary are made of npm packages.
RUN command -v npm || { apt-get update && apt-get install -y --no-install-recommends npm; }
WORKDIR /source
# What a restore looks at, alone: its layer lives until a package changes.
COPY global.json Directory.Build.props Directory.Packages.props .editorconfig ./
COPY src/PaymentGateway/PaymentGateway.csproj src/PaymentGateway/
COPY src/PaymentGateway/package.json src/PaymentGateway/package-lock.json src/PaymentGateway/
COPY src/ProcessorSimulator/ProcessorSimulator.csproj src/ProcessorSimulator/
# `true` refuses a package with a known vulnerability; a registry without their list would fail the build.
ARG NUGET_AUDIT=false
RUN dotnet restore src/PaymentGateway -r $RID -p:NuGetAudit=$NUGET_AUDIT \
  && dotnet restore src/ProcessorSimulator -r $RID -p:NuGetAudit=$NUGET_AUDIT \
  && dotnet msbuild src/PaymentGateway -t:RestorePages
COPY eng/ eng/
COPY postgres/migrations/ postgres/migrations/
COPY src/ src/
RUN eng/publish --no-restore
# Its folder has the processor's name.
RUN cp /usr/lib/*-linux-gnu/libz.so.1 .

FROM ${RUNTIME_IMAGE} AS base
ARG FRAMEWORK
ARG RID=linux-x64
WORKDIR /app
# A .NET 8 binary loads zlib, which .NET 10's base no longer holds. The SDK's image is patched as often.
COPY --from=build /source/libz.so.1 /usr/lib/
# The image's 8080 would only be overruled, with a warning in the log.
ENV ASPNETCORE_HTTP_PORTS=""
# The base image's own user `app`, by number: whoever starts it can see that it is not root.
USER 1654:1654

FROM base AS simulator
COPY --from=build /source/artifacts/${FRAMEWORK:+$FRAMEWORK/}publish/ProcessorSimulator/release_${RID}/ProcessorSimulator ./
ENV ASPNETCORE_URLS=http://0.0.0.0:8080
EXPOSE 8080
# No HEALTHCHECK NONE: `docker compose up --wait` takes it for a check that never comes, and ends with 1.
ENTRYPOINT ["/app/ProcessorSimulator"]

# Last, so that it is what a plain `docker build .` makes.
FROM base AS gateway
COPY --from=build /source/artifacts/${FRAMEWORK:+$FRAMEWORK/}publish/PaymentGateway/release_${RID}/PaymentGateway ./
# Rare, as each check costs some milliseconds of a third of a core; often while it starts, as nginx waits for it.
HEALTHCHECK --interval=30s --timeout=3s --start-period=60s --start-interval=1s --retries=3 \
  CMD ["/app/PaymentGateway", "healthcheck"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["/app/PaymentGateway"]
