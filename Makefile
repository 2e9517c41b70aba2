# Everything a developer types. "make" lists it; "make test" is what CI runs.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
TOOL     := $(GO) tool -modfile=tools/go.mod
# Without a tag the program keeps the version in its source.
VERSION  ?= $(shell git describe --tags --match 'v*' --dirty 2>/dev/null | sed 's/^v//')
LDFLAGS  := -s -w $(if $(VERSION),-X main.version=$(VERSION))
FUZZTIME ?= 10s
ARGS     ?=

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | awk -F'\t' '{printf "  make %-9s %s\n", $$1, $$2}'

.PHONY: build
build: ## build bin/hearth
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/hearth ./cmd/hearth

.PHONY: dist
dist: ## archives for linux, darwin and windows with checksums and parts lists, in dist/
	$(GO) run ./build/dist $(if $(VERSION),-version $(VERSION)) $(ARGS)

.PHONY: run
run: ## start the server; ARGS="--port 8080" passes flags
	@echo 'Compiling; the first time this takes a few minutes in silence.'
	$(GO) run ./cmd/hearth serve $(ARGS)

.PHONY: test
test: ## everything that must be clean: format, vet, lint, tests on both databases, end to end, browser, cross-builds
	@GO='$(GO)' build/test.sh

.PHONY: test-all
test-all: ## test, with every package under the race detector, every rule on both databases, and a real Matrix homeserver
	@GO='$(GO)' build/test.sh all

.PHONY: fmt
fmt: ## format all Go files
	@$(TOOL) gofumpt -w $$(build/gofiles.sh)

.PHONY: lint
lint: ## format check, vet, staticcheck, tidy check and the rules of internal/archtest
	@GO='$(GO)' build/lint.sh

.PHONY: cross
cross: ## compile for darwin, windows and arm64
	@GO='$(GO)' build/cross.sh

.PHONY: generate
generate: ## write the generated pages and files anew
	$(GO) generate ./...

.PHONY: pictures
pictures: ## photograph the pages of the demo for the documentation (needs Chromium)
	$(GO) test ./test/console -count=1 -run TestPictures -args -pictures $(CURDIR)/docs/pictures

.PHONY: bench
bench: ## compare with the bare bound and print ratios
	$(GO) run ./test/bench $(ARGS)

.PHONY: fleet
fleet: ## several servers on one PostgreSQL, at length, and the Helm chart; ARGS="-run TestConsistency" for a part
	HEARTH_FLEET_ROUNDS=$${HEARTH_FLEET_ROUNDS:-300} $(GO) test ./test/fleet -count=1 -timeout 60m $(ARGS)
	cd deploy/chart && $(GO) test -count=1 ./...

.PHONY: crash
crash: ## kill -9 the server at random, again and again, and look for lost writes
	$(GO) run ./test/crash $(ARGS)

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@GO='$(GO)' FUZZTIME='$(FUZZTIME)' build/fuzz.sh

.PHONY: cover
cover: ## test coverage of all packages
	$(GO) test -coverpkg=./internal/...,./client/... -coverprofile=cover.out ./...
	@$(GO) tool cover -func=cover.out | tail -1

.PHONY: clean
clean: ## remove what was built
	rm -rf bin cover.out
