# Thin names over CMake. `make run` and `make test` work on a fresh Debian 12 or 13 as root or with sudo.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
RUN_PACKAGES := cmake ninja-build gcc libc6-dev pkg-config python3 python3-yaml libmicrohttpd-dev libhiredis-dev \
	libjansson-dev libssl-dev libxxhash-dev redis-server
TEST_PACKAGES := $(RUN_PACKAGES) libcmocka-dev libcurl4-openssl-dev python3-jsonschema curl faketime \
	nginx caddy haproxy
# npm comes with the nodejs of others than Debian, and conflicts with Debian's package then.
LINT_PACKAGES := $(TEST_PACKAGES) clang-format $(if $(shell command -v npm),,nodejs npm)
BENCH_PACKAGES := $(RUN_PACKAGES) wrk webdis
JOBS := $(shell nproc)

# Installs what is missing of the packages in $(1); says nothing and needs no root when nothing is.
define install
	@missing=$$(for p in $(1); do dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || echo $$p; done); \
	if [ -n "$$missing" ]; then echo "installing:" $$missing; $(SUDO) apt-get update -qq && \
	$(SUDO) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; fi
endef

.PHONY: run build test test-asan lint bench clean packages-run packages-test packages-lint packages-bench

run: packages-run build
	@exec build/patternd --embedded --log-format text

build:
	@cmake --preset release -DPATTERND_TESTS=OFF >/dev/null
	@cmake --build --preset release --target patternd -j $(JOBS)

test: packages-test
	@cmake --preset release -DPATTERND_TESTS=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@rm -f build/exchanges/*.jsonl
	@ctest --preset release -j $(JOBS)

test-asan: packages-test
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan -j $(JOBS)
	@rm -f build-asan/exchanges/*.jsonl
	@ctest --preset asan -j $(JOBS)

lint: packages-lint
	@tools/lint/run

bench: packages-bench build
	@bench/run
	@bench/leaderboards
	@bench/wake

clean:
	@rm -rf build build-dev build-asan

packages-run:
	$(call install,$(RUN_PACKAGES))
packages-test:
	$(call install,$(TEST_PACKAGES))
packages-lint:
	$(call install,$(LINT_PACKAGES))
packages-bench:
	$(call install,$(BENCH_PACKAGES))
