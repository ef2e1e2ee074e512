.DEFAULT_GOAL := help
.PHONY: help run up down test publish clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "settings: PORT DEFAULT_URL FALLBACK_URL PROFILE=unlogged|durable ACKNOWLEDGE=Stored|Received"
	@echo "          MULTIPLEXING=true|false POOL TOKEN RUN_DIR NO_PUBLISH=1, and any Gateway__… variable"

run: ## install what lacks, build, run it all in the foreground; Ctrl-C stops it
	@eng/run

up: ## the same in the background
	@eng/system up

down: ## stop what `make up` or `make run` started
	@eng/system down

test: ## all tests: unit, storage, and the whole way on the published binaries
	@eng/test

publish: ## the two native binaries, without a single IL warning
	@eng/setup
	@eng/publish

clean: ## stop what runs and remove everything that was built
	@eng/system down
	@rm -rf artifacts .run
