# The same targets here and in CI. `make` alone prints them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

CACHE ?= $(or $(RECON_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/recon)
TOOLS := $(CACHE)/tools
GOFUMPT := $(TOOLS)/gofumpt-v0.12.0/gofumpt
STATICCHECK := $(TOOLS)/staticcheck-v0.8.2/staticcheck
GOLANGCI := $(TOOLS)/golangci-lint-v2.15.0/golangci-lint

# One flavour for vet, staticcheck, both suites and the processes that tests start, so that everything is compiled once. The tag gives the
# Kafka client mutexes that a synctest bubble can wait on; the binaries of `make build` are built without it.
PLAIN := $(strip $(GOFLAGS))
FLAVOUR := $(strip $(PLAIN) -race -tags=synctests)
P ?= ./...
# Only the packages that have real tests are linked a second time.
REAL = $(if $(filter ./...,$(P)),$(shell grep -rlE --include=*_test.go '^func Test(Real|Kill)' . | xargs -rn 1 dirname | sort -u),$(P))
# Each package's tests get this long; TIMEOUT=1h and the like raise it.
TIMEOUT ?= 10m

.PHONY: help
help: ## print the targets
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

.PHONY: build test fast real check lint
build: ## build both binaries into bin/
	go build -trimpath -o bin/ ./cmd/consumer ./cmd/replayer

test: ## the fast suite with the race detector, then the same promises on real services
	@$(MAKE) fast
	@$(MAKE) real

fast: ## the fast suite: no service, no network (P=./pkg/... for less)
	@SECONDS=0; code=0; GOFLAGS="$(FLAVOUR)" go test -vet=off -short -timeout $(TIMEOUT) $(P) || code=$$?; \
	echo "fast suite: $$SECONDS s"; exit $$code

real: ## the real suite: addresses in RECON_TEST_*, else containers, else make services
	@deploy/services/with.sh env GOFLAGS="$(FLAVOUR)" RECON_REQUIRE_SERVICES=1 \
	  bash -c 'SECONDS=0; code=0; go test -vet=off -count=1 -timeout $(TIMEOUT) -run "^Test(Real|Kill)" $(REAL) || code=$$?; echo "real suite: $$SECONDS s"; exit $$code'

check: $(GOFUMPT) $(STATICCHECK) ## format, vet, staticcheck, generated files, go.mod, floors and versions
	@unformatted=$$($(GOFUMPT) -l .); [ -z "$$unformatted" ] || { echo "not in gofumpt's format (run 'make format'):"; echo "$$unformatted"; exit 1; }
	GOFLAGS="$(FLAVOUR)" go vet ./...
	GOFLAGS="$(FLAVOUR)" $(STATICCHECK) ./...
	@sums() { git ls-files -z -co --exclude-standard | xargs -0 cksum 2>/dev/null || true; }; \
	before=$$(sums); $(MAKE) docs; after=$$(sums); \
	[ "$$before" = "$$after" ] || { echo "generated files were not up to date and have been written anew: commit them"; diff <(echo "$$before") <(echo "$$after") | sed -n 's/^> [0-9]* [0-9]* //p'; exit 1; }
	go mod tidy -diff
	GOFLAGS="$(FLAVOUR)" go test -vet=off .

format: $(GOFUMPT) ## write every file in gofumpt's format
	$(GOFUMPT) -w .

lint: $(GOLANGCI) ## the larger linter set of .golangci.yml (its first build takes minutes)
	$(GOLANGCI) run ./...

docs: ## write the generated files anew
	@GOFLAGS="$(FLAVOUR)" go generate ./...

.PHONY: services services-down test-containers demo samples chaos bench format docs module
services: ## start Kafka, Redis and PostgreSQL without containers (BENCH=1: Kafka's own thread counts and heap)
	@deploy/services/up.sh

services-down: ## end them
	@deploy/services/down.sh

test-containers: ## the real suite on containers; an engine that does not answer is a failure
	@RECON_TEST_BY=containers $(MAKE) real

demo: ## the whole life of bank records in one process, no service needed
	@go run ./cmd/consumer demo

samples: ## real bank files through the built binaries on real services (SAMPLES=folder)
	@[ -d "$(or $(SAMPLES),../shared/samples)" ] || { echo "samples: there is no folder $(or $(SAMPLES),../shared/samples); name the one with the bank files: make samples SAMPLES=DIR" >&2; exit 2; }
	@$(MAKE) build
	go build -trimpath -o bin/ ./examples/ingester ./examples/samples
	@deploy/services/with.sh bin/samples --samples "$(or $(SAMPLES),../shared/samples)"

chaos: ## consumers killed at random under load; prints its seed (SEED=, CHAOS_RECORDS=, CHAOS_KILLS=)
	@deploy/services/with.sh env GOFLAGS="$(FLAVOUR)" RECON_REQUIRE_SERVICES=1 \
	  CHAOS_RECORDS=$${CHAOS_RECORDS:-50000} CHAOS_KILLS=$${CHAOS_KILLS:-10} \
	  go test -vet=off -count=1 -timeout 25m -v -run '^TestKilledConsumers' ./cmd/consumer

bench: ## ours against a bare loop, on a Kafka with its own thread counts
	@BENCH=1 deploy/services/with.sh go run ./bench $(BENCH_FLAGS)

# `make module PATH=example.com/recon`: a PATH given here hides the shell's, which the script finds again.
module: ## rename the module everywhere: make module PATH=host/name
	@/bin/bash deploy/rename.sh "$(if $(filter command line,$(origin PATH)),$(PATH))"

# A tool is built once for its version, plain.
$(GOFUMPT): ; GOFLAGS="$(PLAIN)" GOBIN=$(@D) go install mvdan.cc/gofumpt@v0.12.0
$(STATICCHECK): ; GOFLAGS="$(PLAIN)" GOBIN=$(@D) go install honnef.co/go/tools/cmd/staticcheck@v0.8.2
$(GOLANGCI): ; GOFLAGS="$(PLAIN)" GOBIN=$(@D) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
