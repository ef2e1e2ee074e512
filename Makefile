.DEFAULT_GOAL := help
# A build and the tests end before the profiles pay: 15 % less CPU without them.
export DOTNET_TieredPGO := 0
.PHONY: help run up down install test test-fast test-storage compose-test rinha-entry sbom publish mutants chaos ha citus-chaos odd bench-inner routing model simulate ab preview preview-short final final-short stress saturation soak audit compare clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "settings: PORT PROCESSORS DEFAULT_PORT FALLBACK_PORT ADMIN_PORT DEFAULT_URL FALLBACK_URL DEFAULT_FEE FALLBACK_FEE"
	@echo "          PROFILE=unlogged|durable FRESH=0|1 READY_SECONDS LIMITS=1 (measurements)"
	@echo "          FRAMEWORK=net10.0 (publishes, runs and tests for .NET 10; else Directory.Build.props names it)"
	@echo "          LEDGER MULTIPLEXING=true|false POOL TOKEN RUN_DIR NO_PUBLISH=1, and any Gateway__… variable"
	@echo "          LACKS=root,browser (parts that this machine lacks: only tests that need these may be skipped)"

run: ## install what lacks, build, run it all in the foreground; Ctrl-C stops it
	@eng/tool run

up: ## the same in the background
	@eng/tool up

down: ## stop what `make up` or `make run` started
	@eng/tool down

install: ## builds the gateway and puts it into PREFIX/bin (/usr/local; DESTDIR goes before it)
	@[ "$${NO_PUBLISH:-}" = 1 ] || { eng/setup && eng/publish; }
	@install -D "artifacts/$(FRAMEWORK)/publish/PaymentGateway/release_linux-x64/PaymentGateway" \
	"$(DESTDIR)$(or $(PREFIX),/usr/local)/bin/PaymentGateway"

test: ## all tests: unit, storage, and end to end on the published binaries (ARGS='--filter …')
	@eng/test all $(ARGS)

test-fast: ## no binaries, no browser; with PostgreSQL the storage, the simulation, and folders that changed
	@eng/test fast $(ARGS)

test-storage: ## the storage tests on any PostgreSQL (URL='Host=…;Database=…', SQL=a file to run after the tables)
	@STORAGE_URL="$(URL)" STORAGE_SQL="$(abspath $(SQL))" eng/test storage $(ARGS)

compose-test: ## the containers on a real engine, everything killed and restarted (ARGS=shell: a shell beside it)
	@tests/containers/engine tests/containers/run $(ARGS)

rinha-entry: ## the challenge's entry in artifacts/rinha-entry (GATEWAY_IMAGE=… SOURCE=https://… NAME=…)
	@eng/rinha-entry

sbom: ## the gateway's bill of materials, artifacts/sbom/payment-gateway.json (CycloneDX)
	@eng/sbom

publish: ## the two native binaries, without a single IL warning
	@eng/setup
	@eng/publish

mutants: ## breaks one invariant at a time in a copy; a test must turn red for each (ARGS=names of some)
	@eng/mutants $(ARGS)

chaos: ## everything breaks at once, by SEED, in both profiles (or PROFILE) for SECONDS each, with PROCESSORS
	@eng/chaos "$(or $(SEED),1)" "$(or $(PROFILE),both)" "$(or $(SECONDS),280)"

ha: ## the database fails over under load, eight minutes, as root; prints gap, lost and double (ARGS=preview)
	@eng/ha $(ARGS)

citus-chaos: ## servers of a Citus die and lose commits, six minutes, by SEED (PG=folder with bin/postgres and Citus)
	@eng/citus-chaos "$(PG)" "$(or $(SEED),1)" "$(or $(SECONDS),60)"

odd: ## each odd answer of a processor, at 1/min, 1/s and 50/s, AT_ONCE=8 systems (ARGS="default '1/s' 404")
	@eng/odd $(ARGS)

# With the runtime inside: bytes per payment are this framework's, also where only a newer one is installed.
BENCHMARKS = dotnet run --project tests/PaymentGateway.Benchmarks -c Release -r linux-x64 --self-contained -v q --

bench-inner: publish ## time and bytes of the inner pieces, bytes allocated per payment by a whole gateway (TYPES=1, PAYER=1: with a token)
	@$(BENCHMARKS) inner
	@eng/tool start postgres default fallback
	@$(BENCHMARKS) allocations "$${RUN_DIR:-.run}/system.env" $(if $(TYPES),types) $(if $(PAYER),token); status=$$?; \
	eng/tool down; exit $$status

routing: ## the routing policy, simulated over both official loads and 1,000 random ones (docs/routing.md)
	@$(BENCHMARKS) routing

model: ## the protocol, searched completely in minutes and 10 GB, and each rule broken
	@FULL=1 tests/model/run

# Each half on a core of its own where that can be had: its processes take turns, and a turn within a core costs half.
simulate: ## schedules of faults from SEED on, RUNS of them, on simulated time, or SCHEDULES='steps|steps'
	@eng/setup
	@dotnet build tests/PaymentGateway.Tests -c Release -tl:off -v q -nologo -clp:NoSummary
	@first="$(or $(SEED),1)"; runs="$(or $(RUNS),300)"; half=$$(((runs + 1) / 2)); \
	play() { SEED=$$2 RUNS=$$3 $$(taskset -c $$1 echo taskset -c $$1 2>&-) dotnet test tests/PaymentGateway.Tests \
	-c Release --no-build -tl:off --filter FullyQualifiedName~ClusterSimulationTests.No_schedule \
	--logger 'console;verbosity=detailed'; }; \
	play 0 $$first $$half & play 1 $$((first + half)) $$((runs - half)); status=$$?; wait $$! && exit $$status

ab: ## which of several variants costs less CPU (ARGS="shipped 'other=VARIABLE=value CLONE=dir'"), all up at once
	@eng/tool ab $(ARGS)

preview: ## the challenge's practice minute and its score; LIMITS=1 puts the 1.5 CPU in force, URL=… uses what runs
	@eng/load preview $(ARGS)

preview-short: ## thirty seconds of it, scaled, as .ci/run does; the last lines say so when it cannot run
	@eng/load preview --short

final: ## the five minutes that decided the challenge, with its fees, and their score; LIMITS=1, URL=…
	@eng/load final $(ARGS)

final-short: ## a minute of it, scaled, as .ci/run does; the last lines say so when it cannot run
	@eng/load final --short

stress: ## three times the preview's volume for 20 minutes (ARGS='-Dminutes=5 -Dmultiple=2')
	@eng/load stress $(ARGS)

saturation: ## more arrivals per second until it refuses or is slow: the knee
	@eng/load saturation $(ARGS)

soak: ## few payments for hours, an outage every minute (ARGS=-Dhours=8)
	@eng/load soak $(ARGS)

audit: ## summaries fifty times a second while paying: never wrong, never late
	@eng/load audit $(ARGS)

compare: ## gateway, stub and nginx alone in turn (ARGS=5), or SIDES="final stub-final"
	@eng/load compare $(ARGS)

clean: ## stop what runs and remove everything that was built
	@[ ! -d "$${RUN_DIR:-.run}/pids" ] || eng/tool down
	@rm -rf artifacts .run
