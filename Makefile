# Thin names over CMake. `make run` and `make test` work on a fresh Debian 12 or 13 as root or with
# sudo. A target that is for people has its line of `make help` behind ##.
SUDO := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
# OFF builds without the pages /ui and /docs, and fetches nothing from npm.
WEB := ON
export DEBIAN_FRONTEND := noninteractive
# ca-certificates: tools/fetch_npm.py asks npm's registry by HTTPS.
RUN_PACKAGES := cmake ninja-build gcc libc6-dev pkg-config python3 python3-yaml ca-certificates \
	libmicrohttpd-dev libgnutls28-dev libhiredis-dev \
	libxxhash-dev libcurl4-openssl-dev redis-server curl tzdata
TEST_PACKAGES := $(RUN_PACKAGES) libssl-dev libcmocka-dev libjansson-dev python3-jsonschema python3-pytest faketime jq strace \
	busybox nginx caddy haproxy mandoc zsh fish mypy python3-venv $(if $(shell command -v node),,nodejs)
# npm comes with the nodejs of others than Debian, and conflicts with Debian's package then.
NPM_PACKAGES := $(if $(shell command -v npm),,nodejs npm)
# mypy judges uses of the Python client; Flask and Django are for examples/frameworks.
CLIENT_PACKAGES := $(RUN_PACKAGES) $(NPM_PACKAGES) mypy python3-flask python3-django
# prometheus for its promtool.
LINT_PACKAGES := $(TEST_PACKAGES) clang-format shellcheck prometheus mkdocs $(NPM_PACKAGES)
# wrk makes the load, valgrind counts instructions; the others are peers, beside the peers of
# bench/peers/package.json.
BENCH_PACKAGES := $(RUN_PACKAGES) wrk webdis nginx lua-nginx-redis lua-cjson etcd-server beanstalkd valgrind \
	$(NPM_PACKAGES)
ALARMS_PACKAGES := $(RUN_PACKAGES) prometheus
GAUGES_PACKAGES := $(RUN_PACKAGES) binutils git valgrind
# The tests of the pages /ui and /docs, in a browser.
BROWSER_PACKAGES := $(RUN_PACKAGES) chromium $(NPM_PACKAGES)
# Without numbers: Debian 12 and 13 have their own.
ANALYZE_PACKAGES := $(filter-out redis-server,$(RUN_PACKAGES)) clang-tidy cppcheck
VALGRIND_PACKAGES := $(TEST_PACKAGES) valgrind
FUZZ_PACKAGES := $(filter-out redis-server,$(RUN_PACKAGES)) libjansson-dev clang libclang-rt-dev
# An image is built by docker or podman where one answers, else by buildah on a root of debootstrap.
IMAGE_PACKAGES = redis-server python3 python3-yaml iproute2 util-linux openssl curl \
	$(if $(filter-out $(NATIVE),$(ARCH)),qemu-user-static) \
	$(shell docker info >/dev/null 2>&1 || podman info >/dev/null 2>&1 \
	|| echo buildah debootstrap)
SITE_PACKAGES := python3 python3-yaml ca-certificates mkdocs
# What dpkg-shlibdeps is in, and what it asks.
DEB_PACKAGES = $(call of_arch,$(filter-out redis-server,$(RUN_PACKAGES)) dpkg-dev file)
# The tests on the other architecture, whose programs run under qemu-user; redis-server is the machine's.
# libc6-dev for the library that is preloaded into it.
ARCH_TEST_PACKAGES = $(call of_arch,$(RUN_PACKAGES) libssl-dev libcmocka-dev libjansson-dev qemu-user-static) libc6-dev:$(NATIVE)
# python3-yaml for tests/test_docs.py, by whose rules tests/quickstart compares.
ROOT_PACKAGES := debootstrap util-linux iproute2 python3-yaml
# buildah also where an engine answers: it gives each file the time of the commit.
DIST_PACKAGES = $(sort qemu-user-static $(ROOT_PACKAGES) $(IMAGE_PACKAGES) $(SITE_PACKAGES) buildah git dpkg-dev \
	$(NPM_PACKAGES))
JOBS := $(shell nproc)
# The architecture to build for, amd64 or arm64: of `make image` and `make deb`. For the other one
# Debian's cross compiler builds, with libraries of that architecture.
NATIVE := $(shell dpkg --print-architecture 2>/dev/null)
ARCH := $(NATIVE)
ifneq ($(ARCH),$(NATIVE))
FOREIGN := -$(ARCH)
TRIPLET := $(if $(filter amd64,$(ARCH)),x86_64,aarch64)-linux-gnu
CROSS := --toolchain tools/cross.cmake -DTRIPLET=$(TRIPLET)
# Packages of a build, with libraries of $(ARCH).
of_arch = $(foreach p,$(1),$(p)$(if $(filter lib%-dev,$(p)),:$(ARCH))) gcc-$(subst _,-,$(TRIPLET))
else
of_arch = $(1)
endif
# Tests mostly wait, with a sanitizer less than without.
TEST_JOBS := $(shell echo $$((3 * $(JOBS))))
# CTest with the arguments $(2), for the build folder $(1). What fails beside the others is tried once
# more, one after the other. CTest's log then has both runs, because RELIABILITY.md counts both.
run_tests = ctest $(2) --output-on-failure || { \
	log=$(1)/Testing/Temporary/LastTest.log; cp $$log $$log.first; \
	ctest --test-dir $(1) --rerun-failed --fixture-exclude-any . --output-on-failure; status=$$?; \
	cat $$log >>$$log.first; mv $$log.first $$log; exit $$status; }
PREFIX := /usr/local
# ON: `make test` tries the program as `make build` links it, with link-time optimisation.
LTO := OFF
# How long `make fuzz` gives each target.
SECONDS := 60
# Debian 13 to build and test in; `rm -rf build-roots` for a fresh one.
DEBIAN13 := build-roots/trixie-test
# With libraries of arm64: some of Debian's -dev packages cannot be there for two architectures.
DEBIAN13_ARM64 := build-roots/trixie-arm64

# Installs what is missing of the packages in $(1), and starts none of their services; prints nothing
# and needs no root when nothing is. A package is of this machine's architecture, or PACKAGE:ARCH.
define install
	@missing=$$(for p in $(1); do arch=$${p#*:}; [ "$$arch" != "$$p" ] || arch=$(NATIVE); \
		dpkg-query -W -f '$${Status} $${Architecture}\n' $$p 2>/dev/null | grep -qE "ok installed (all|$$arch)$$" || echo $$p; \
	done); \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ -n "$(SUDO)" ] && ! command -v $(SUDO) >/dev/null; then \
		echo "Debian packages are missing, and there is no sudo here. An administrator can install them:"; \
		echo "  apt-get install --no-install-recommends" $$missing; exit 1; fi; \
	echo "installing with apt, which may take some minutes:" $$missing; $(SUDO) tools/apt_install $$missing
endef

.PHONY: alarms alarms-selftest analyze bench bench-brief bench-instructions bench-queues build chaos \
	chaos-parts chaos-selftest check clean deb dist dist-twice fuzz fuzz-selftest gauges help image \
	install lint packages-alarms packages-analyze packages-arch-test packages-bench packages-browser \
	packages-clients packages-deb packages-dist packages-fuzz packages-gauges packages-image packages-lint \
	packages-roots packages-run packages-site packages-test packages-valgrind plant-faults quickstart run \
	site soak soak-parts soak-selftest test test-arm64 test-asan test-browser test-clients test-deb \
	test-debian13 test-emulated test-valgrind torture try-dist verify

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/\1|\2/p' Makefile | sort | awk -F'|' '{ printf "make %-20s %s\n", $$1, $$2 }'

run: build ## build, and start a daemon with a private Redis; WEB=OFF: without /ui and /docs
	@exec build/patternd --embedded --log-format text

build: packages-run ## build build/patternd
	@cmake --preset release -DPATTERND_TESTS=OFF -DPATTERND_WEB=$(WEB) >/dev/null
	@cmake --build --preset release --target patternd -j $(JOBS)

test: packages-test ## all tests, on real redis-servers; LTO=ON: of the program as it is shipped
	@cmake --preset release -DPATTERND_TESTS=ON -DPATTERND_TESTS_LTO=$(LTO) >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@rm -f build/exchanges/*.jsonl
	@$(call run_tests,build,--preset release -j $(TEST_JOBS))

# The tests of one pattern or of several, by the folders in handlers/: the scripts, the examples and
# the tests of the API on one server and on a Cluster, the page; the tests that have a row for each
# kind; what the answers and the contract have of each other; and the lints of what has changed since
# they last passed.
check: packages-test packages-lint ## one pattern, or several: PATTERN=locks
	@for x in $(or $(PATTERN),''); do test -n "$$x" -a -d "handlers/$$x" || { \
		echo "make check PATTERN=x needs a folder handlers/x; these exist:"; ls -d handlers/*/ | cut -d/ -f2; exit 2; }; done
	@cmake --preset release -DPATTERND_TESTS=ON -DPATTERND_TESTS_LTO=$(LTO) >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@rm -f build/exchanges/*.jsonl
	@status=0; ($(call run_tests,build,--preset release -j $(TEST_JOBS) -R \
		'^(scripts|api|cluster|examples|examples_cluster|examples_replica)/(test_)?($(ANY))(_|$$)|^($(ANY))[_/]|^api/test_(kinds|names|history|name_history)$$|^(contract_rules|script_costs|plain_blocks)$$|^docs_cluster/($(ANY))$$|^docs/($(ANY)|README|errors|limits|metrics|reference|folder_internals|folder_reference|redis_keys|from_redis_commands)$$')) || status=1; \
	for x in $(PATTERN); do tests/validate_exchanges.py --pattern $$x build/generated/openapi.json \
		build/exchanges/*.jsonl || status=1; done; \
	tools/lint/run --changed || status=1; \
	exit $$status
check: ANY = $(subst $(SPACE),|,$(strip $(PATTERN)))
SPACE := $() $()

# Without the tests that run none of the daemon's code. CLUSTER=1: with the tests of the API on a
# Cluster, too.
test-asan: packages-test ## tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset asan >/dev/null
	@cmake --build --preset asan -j $(JOBS)
	@$(call run_tests,build-asan,--preset asan -j $$((2 * $(JOBS))) $(if $(CLUSTER),,--label-exclude cluster))

# TypeScript clients that two generators of npm's make of the contract, the packages of clients/, and
# programs that use an AWS SDK.
test-clients: packages-clients tests/sqs/node_modules/.package-lock.json build ## generated TypeScript clients, packages of clients/, SDKs of SQS
	@tests/test_clients.py build/patternd build/clients
	@node --test tests/sqs/

# The daemon of the tests, and the unit tests themselves, under memcheck; most of the time they
# wait.
test-valgrind: packages-valgrind ## tests under memcheck
	@cmake --preset valgrind >/dev/null
	@cmake --build --preset valgrind -j $(JOBS)
	@$(call run_tests,build-valgrind,--preset valgrind -j $$((4 * $(JOBS))))

# The pages /ui and /docs, and the site, in Chromium, which is steered by playwright-core.
test-browser: packages-browser packages-site tests/browser/node_modules/.package-lock.json build ## /ui, /docs and the site in Chromium
	@node --test --test-concurrency=1 tests/browser/

tests/browser/node_modules/.package-lock.json tests/sqs/node_modules/.package-lock.json: tests/%/node_modules/.package-lock.json: tests/%/package-lock.json
	@npm ci --prefix tests/$* --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@

# gcc -fanalyzer, clang-tidy and cppcheck, of each file that has changed since they were last asked.
analyze: packages-analyze ## gcc -fanalyzer, clang-tidy, cppcheck
	@cmake --preset analyze >/dev/null
	@cmake --build --preset analyze -j $(JOBS) -- -k 0

# Every call that can fail fails once, in every operation; some minutes. What was counted is in
# build/torture.json.
torture: packages-test ## each call that can fail fails once
	@cmake --preset release -DPATTERND_TESTS=ON -DPATTERND_TESTS_LTO=ON >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@PATTERND_TORTURE_ALL=$(CURDIR)/build/torture.json ctest --preset release -R faults/test_torture -V

# Of `make chaos`: how long, which faults in which order, and single, sentinel, cluster or all;
# BESIDE=REV: daemons of that revision of git among them, as in a rolling update.
chaos: SECONDS := 30
SEED := 1
MODE := single
chaos: packages-test chaos-parts ## promises under kills and cuts: SECONDS=30 SEED=1 MODE=single
	@tests/chaos/run --seconds $(SECONDS) --seed $(SEED) --mode $(MODE) $(if $(BESIDE),--beside $(BESIDE))

# Whether chaos would find them: a daemon with each of the bugs of tests/chaos/bugs.py.
chaos-selftest: packages-test chaos-parts ## whether chaos finds seeded bugs
	@tests/chaos/selftest

chaos-parts:
	@cmake --preset release -DPATTERND_TESTS=ON -DPATTERND_TESTS_LTO=ON >/dev/null
	@cmake --build --preset release --target patternd fault_proxy -j $(JOBS)

# Which tests catch faults in the scripts of a pattern; SAVE=FILE keeps it, COMPARE=FILE fails if less is caught.
plant-faults: packages-test ## which tests catch faults in scripts: PATTERN=sets SEED=1
	@cmake --preset release -DPATTERND_TESTS=ON -DPATTERND_TESTS_LTO=OFF >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@tests/plant_faults.py build $(PATTERN) --seed $(SEED) --jobs $(JOBS) $(if $(SAVE),--save $(SAVE)) \
		$(if $(COMPARE),--compare $(COMPARE))

# Minutes of mixed load at half of capacity, with a fault each 20 s; what was seen is in
# build/soak.json.
soak: SECONDS := 600
soak: packages-test soak-parts ## ten minutes of mixed load and faults: SECONDS=600
	@tests/soak/run --seconds $(SECONDS) --seed $(SEED)

# Whether soak would find them: daemons that leak memory, leak descriptors, and block.
soak-selftest: packages-test soak-parts ## whether soak finds seeded bugs
	@tests/soak/selftest

soak-parts: chaos-parts
	@cmake --build --preset release --target mixed_load -j $(JOBS)

# A healthy load, under which GET /overview has no finding and no alert fires; what was seen is in
# build/alarms.json. It needs a tenth of a processor.
alarms: SECONDS := 600
alarms: packages-alarms build ## no false alarm in ten minutes of healthy load: SECONDS=600
	@tests/alarms/run --seconds $(SECONDS) --seed $(SEED)

# Whether it would see an alarm: behaviours that are not healthy, beside the others.
alarms-selftest: packages-alarms build ## whether false alarms would be seen
	@tests/alarms/run --seconds 100 --selftest --report build/alarms-selftest.json

# The lints build what they read, in the build of the tests if there is one.
lint: packages-lint ## all lints
	@tools/lint/run

bench: packages-bench bench/peers/node_modules/.package-lock.json build ## compare with peers, in ten minutes
	@bench/run $(BENCH_OPTIONS)

bench-queues: packages-bench bench/peers/node_modules/.package-lock.json build ## messages beside peers, in eight minutes
	@bench/run --only queues --only queues-one --only queues-batched --only queues-batched-one --seconds 5 $(BENCH_OPTIONS)

# What fails here got no answer, or an error. Figures and missed goals are only printed. wrk has the
# machine for itself; the programs after it mostly wait.
bench-brief: packages-bench bench/peers/node_modules/.package-lock.json build ## every part of bench/ for some seconds: does it answer?
	@bench/run --brief
	@printf '%s\n' 'sidecars --daemons 2' 'sizes --items 2000 --daemons 2' 'outage --daemons 3 --idle 2' 'topics 100' \
		'wake 100 100' 'instructions --brief' 'leaderboards 2000' | xargs -P $(JOBS) -I{} sh -c \
		'said=$$(bench/{} 2>&1); status=$$?; echo "bench/{}:"; echo "$$said"; exit $$status'

bench/peers/node_modules/.package-lock.json: bench/peers/package-lock.json
	@npm ci --prefix bench/peers --no-audit --no-fund --ignore-scripts --loglevel=error
	@touch $@

# A minute for each target, or SECONDS.
fuzz: packages-fuzz ## libFuzzer, SECONDS=60 for each target
	@cmake --preset fuzz >/dev/null
	@cmake --build --preset fuzz -j $(JOBS)
	@tests/fuzz/run $(SECONDS)

# Whether they would find it: each target with a bug in the daemon's code.
fuzz-selftest: packages-fuzz ## whether fuzzing finds seeded bugs
	@tests/fuzz/selftest

# What the project weighs: scripts, starts, program, memory, lines, and Redis's instructions for each
# operation, beside the record; RECORD=1 makes this run the record, and writes README's sizes.
gauges: packages-gauges build ## sizes, and Redis's instructions for each operation, beside the record
	@bench/gauges $(if $(RECORD),--record)
	@bench/instructions --redis $(if $(RECORD),--record)

# Instructions per request, beside the recorded baseline; RECORD=1 makes this run the baseline.
bench-instructions: packages-bench build ## instructions per request, beside the baseline
	@bench/instructions $(if $(RECORD),--record)

# The suite and all that looks for faults, one after the other; hours. What they counted becomes
# RELIABILITY.md. QUICK=1 takes some minutes. SEEDS=1,2,3 are chaos's, and BESIDE=REV; STEPS="chaos
# soak" runs these, and keeps the results of others; RESUME=1 continues where it was interrupted.
verify: packages-test ## everything that looks for faults; writes RELIABILITY.md
	@tests/verify/run $(if $(QUICK),--quick) $(if $(RESUME),--resume) $(if $(SEEDS),--seeds $(SEEDS)) \
		$(if $(BESIDE),--beside $(BESIDE)) $(if $(CHAOS_SECONDS),--chaos-seconds $(CHAOS_SECONDS)) \
		$(if $(FUZZ_SECONDS),--fuzz-seconds $(FUZZ_SECONDS)) \
		$(if $(SOAK_SECONDS),--soak-seconds $(SOAK_SECONDS)) $(STEPS)

# Into $(DESTDIR)$(PREFIX); the configuration into $(DESTDIR)/etc/patternd, unless it is there
# already.
install: packages-run ## into PREFIX=/usr/local, DESTDIR=
	@cmake --preset release -DPATTERND_TESTS=OFF -DCMAKE_INSTALL_PREFIX=$(PREFIX) >/dev/null
	@cmake --build --preset release -j $(JOBS)
	@DESTDIR=$(DESTDIR) cmake --install build --strip

deb: DEB = build-deb$(FOREIGN)
deb: packages-deb ## a Debian package, in build-deb/; ARCH=arm64 or amd64: for the other architecture
	@cmake -S . -B $(DEB) -G Ninja $(CROSS) -DCMAKE_BUILD_TYPE=Release -DPATTERND_TESTS=OFF \
		-DCMAKE_INSTALL_PREFIX=/usr >/dev/null
	@cmake --build $(DEB) -j $(JOBS)
	@cd $(DEB) && rm -f *.deb && DEB_HOST_ARCH=$(ARCH) cpack >cpack.log || { cat cpack.log; exit 1; }
	@ls $(DEB)/*.deb

# README's quick start, as it is, in a fresh Debian 12 and a fresh Debian 13, or in
# SUITES=bookworm only; root or sudo.
quickstart: packages-roots ## README's quick start in fresh Debian roots
	@$(SUDO) tests/quickstart $(SUITES)

# The documentation as static pages, in build/site.
site: packages-site ## the documentation as a static site, in build/site
	@tools/site/build build/site

# These need root or sudo, and some minutes; `.ci/run` does without them.
test-debian13: packages-roots ## the suite in a Debian 13 root
	@$(SUDO) tools/debian_root make trixie $(DEBIAN13)
	@$(SUDO) tools/debian_root tree $(DEBIAN13)
	@$(SUDO) tools/debian_root run $(DEBIAN13) sh -c 'apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends make \
		$(filter valkey-server,$(PATTERND_TEST_REDIS)) >/dev/null'
	@$(SUDO) tools/debian_root run $(DEBIAN13) PATTERND_TEST_REDIS=$(PATTERND_TEST_REDIS) make -C /src test \
		JOBS=$(JOBS)

# Unit and script tests, cross-compiled, under qemu-user: of what depends on the architecture, such as
# signed characters, alignment and the order of memory.
test-arm64: packages-roots ## unit and script tests of arm64 under qemu-user, in a Debian 13 root
	@$(SUDO) tools/debian_root make trixie $(DEBIAN13_ARM64)
	@$(SUDO) tools/debian_root tree $(DEBIAN13_ARM64)
	@$(SUDO) tools/debian_root run $(DEBIAN13_ARM64) sh -c 'apt-get update -qq && \
		apt-get install -y -qq --no-install-recommends make >/dev/null'
	@$(SUDO) tools/debian_root run $(DEBIAN13_ARM64) make -C /src test-emulated ARCH=arm64 JOBS=$(JOBS)

# What test-arm64 runs in the root.
EMULATED := $(basename $(notdir $(wildcard tests/unit/test_*.c tests/scripts/test_*.c)))
test-emulated: packages-arch-test
	@cmake --preset release -B build$(FOREIGN) $(CROSS) -DPATTERND_TESTS=ON -DPATTERND_WEB=OFF >/dev/null
	@cmake --build build$(FOREIGN) -j $(JOBS) --target $(EMULATED) clock_ahead
	@$(call run_tests,build$(FOREIGN),--test-dir build$(FOREIGN) -j $(TEST_JOBS) --no-tests=error --fixture-exclude-any build -R '^(unit|scripts)/')

# The package, made and tried in a fresh Debian 12 and a fresh Debian 13.
test-deb: packages-roots ## the package in fresh Debian roots
	@$(SUDO) packaging/try_deb bookworm
	@$(SUDO) packaging/try_deb trixie

image: packages-image ## the container images; ARCH=arm64 or amd64: for the other architecture
	@$(SUDO) env ENGINE=$(ENGINE) ARCH=$(ARCH) docker/build

dist: packages-dist ## all files of a release in dist/, from the last commit
	@$(SUDO) packaging/dist
dist-twice: packages-dist ## the same twice, which must give the same bits
	@$(SUDO) packaging/dist --twice
try-dist: packages-dist ## the files of dist/, alone, in a fresh Debian 12 and 13
	@$(SUDO) packaging/try_dist bookworm trixie

clean: ## remove the builds
	@rm -rf dist build build-asan build-fuzz build-analyze build-valgrind build-deb* build-arm64 build-amd64 build-image

packages-run:
	$(call install,$(RUN_PACKAGES))
packages-test:
	$(call install,$(TEST_PACKAGES))
packages-clients:
	$(call install,$(CLIENT_PACKAGES))
packages-lint:
	$(call install,$(LINT_PACKAGES))
packages-deb:
	$(call install,$(DEB_PACKAGES))
packages-arch-test:
	$(call install,$(ARCH_TEST_PACKAGES))
packages-site:
	$(call install,$(SITE_PACKAGES))
packages-roots:
	$(call install,$(ROOT_PACKAGES))
packages-image:
	$(call install,$(IMAGE_PACKAGES))
packages-dist:
	$(call install,$(DIST_PACKAGES))
packages-analyze:
	$(call install,$(ANALYZE_PACKAGES))
packages-valgrind:
	$(call install,$(VALGRIND_PACKAGES))
packages-fuzz:
	$(call install,$(FUZZ_PACKAGES))
packages-browser:
	$(call install,$(BROWSER_PACKAGES))
packages-bench:
	$(call install,$(BENCH_PACKAGES))
packages-alarms:
	$(call install,$(ALARMS_PACKAGES))
packages-gauges:
	$(call install,$(GAUGES_PACKAGES))
