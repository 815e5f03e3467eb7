# kgym: `make help` lists the targets. Everything is built below build/<variant>/. Results are below
# build/ and runs/, and so are the caches of `make demo`, `make demo-gym`, `make test`, `make bench` and `make corpus`.
# Outside the tree: packages that tools/setup.sh installs when they are missing, scratch folders in
# $TMPDIR that their makers remove, and lock files with fixed names (/run/user/UID/kgym-timing.lock*,
# or /tmp/kgym-timing-UID.lock*). They keep two processes from timing at once, so they must stay.
# `make V=1` prints whole commands.

VARIANT ?= release
ifeq ($(origin CC),default)
CC      := gcc
endif
B       := build/$(VARIANT)
MARCH   ?= native

WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef \
           -Wpointer-arith -Wcast-qual -Wno-format-truncation
PKGS    := jansson yaml-0.1 libcrypto libffi libseccomp libpcre2-8 libutf8proc libevent_core libevent_extra sqlite3 libzstd hiredis
# Sanitized builds: their reports name files and lines, and compiling takes half of the time.
OPTIMIZE = $(if $(SAN),-O1 -g1,-O2 -g)
CFLAGS   = -std=gnu17 $(OPTIMIZE) -fno-omit-frame-pointer -D_GNU_SOURCE -Isrc -I. $(WARN) $(WERROR)
LIBS     = $(shell pkg-config --libs $(PKGS)) -lm -lpthread -ldl
SAN_asan     := -fsanitize=address -fno-sanitize-recover=all
SAN_ubsan    := -fsanitize=undefined -fno-sanitize-recover=all
SAN_sanitize := -fsanitize=address,undefined -fno-sanitize-recover=all
SAN     := $(SAN_$(VARIANT))

# A recipe prints one short line, `$(call say,CC)`, and hides its command; V=1 shows the commands instead.
V ?= 0
Q       := $(if $(filter 1,$(V)),,@)
say      = @$(if $(filter 1,$(V)),:,printf '  %-5s %s\n' $(1) $@)

BASE    := $(wildcard src/base/*.c)
GYM     := $(wildcard src/gym/*.c src/gym/*/*.c src/gym/*/*/*.c)
LM      := $(wildcard src/lm/*.c src/lm/*/*.c src/lm/*/*/*.c)
RL      := $(wildcard src/rl/*/*.c)
TRIAL   := $(wildcard src/trial/*/*.c)
SVC     := $(wildcard src/svc/*.c src/remote/*.c)
CLI     := $(wildcard src/cli/*.c src/cli/*/*.c)
RUNNER  := $(wildcard src/runner/*.c)
KERNELS := $(wildcard src/gym/device/kernels/*.cu)
UNIT    := $(wildcard tests/unit/test_*.c)
SUPPORT := $(wildcard tests/support/*.c)
FUZZ    := $(wildcard fuzz/fuzz_*.c)
BENCH   := $(wildcard bench/bench_*.c)

LIBRARIES := $(B)/kgops-counted/libkgops.so $(B)/kgops-stub/libkgops.so

obj      = $(patsubst %.c,$(B)/obj/%.o,$(1))
LIB     := $(B)/libkgym-internal.a
TESTS   := $(patsubst tests/unit/%.c,$(B)/tests/%,$(UNIT))
REPLAYS := $(patsubst fuzz/%.c,$(B)/tests/replay_%,$(FUZZ))
BENCHES := $(patsubst bench/%.c,$(B)/bench/%,$(BENCH))

.PHONY: all help setup torch goldens demo demo-check demo-gym test test-long test-ui unit programs check sanitize asan ubsan corpus mutants fuzz bench docs format clean
.DEFAULT_GOAL := all

all: $(B)/kgym $(B)/kgym-runner $(B)/kgops/libkgops.so $(B)/kgops/kgops.h $(LIBRARIES) $(B)/null.so $(B)/libkgym_probe.so ## build everything

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing (apt, as root or with sudo); quick when nothing is
	@tools/setup.sh

torch: ## the project's own Python environment, .venv, with torch and triton: a minute and 5 GB
	@tools/setup.sh torch

goldens: ## make the goldens of the engine, its formats and the methods anew, with transformers, PEFT and TRL
	@tools/goldens.sh

demo: ## a small model learns to write faster C kernels: SFT, RL, report; under 10 minutes
	@tools/demo.sh

demo-check: setup ## the demo on 4 seeds and other problems, with controls: an hour; JOBS=4 on 8 cores
	@tools/setup.sh test
	@$(MAKE) --no-print-directory all
	@tools/demo-check.sh

demo-gym: setup ## judge about 60 shipped replies and write runs/demo-gym/report.html
	@$(MAKE) --no-print-directory all
	@demo/run.sh

test: ## build and run the tests, but for those that take long: a few minutes
	@tools/setup.sh test
	@$(MAKE) --no-print-directory -j$$(nproc) unit

test-long: ## the tests that take long: kill series, whole corpora, sanitizers, some mutants
	@tools/setup.sh test
	@tools/setup.sh llama
	@$(MAKE) --no-print-directory -j$$(nproc) programs
	@tests/long.sh $(B)

test-ui: ## dashboard and reports in headless Chromium; pictures of their pages in build/ui
	@tools/setup.sh ui
	@$(MAKE) --no-print-directory -j$$(nproc) $(B)/kgym
	@KGYM_TREE=$(CURDIR) /usr/bin/python3 tests/ui/run.py $(B)/kgym build/ui
	@/usr/bin/python3 tests/ui/reports.py $(B)/kgym build/ui

programs: all $(TESTS) $(REPLAYS) $(B)/libfakecuda.so $(B)/libfakecupti.so $(B)/libfakenvml.so

# SCOPE: --long or --all instead of all that is not long.
unit: programs
	@tests/run.sh $(B) $(SCOPE)

check: ## every check of tools/check: format, layers, names, pages, commits, warnings, clang-tidy
	@tools/setup.sh check
	@tools/check.sh

sanitize: ## all tests under both sanitizers at once
	@$(MAKE) --no-print-directory -j$$(nproc) VARIANT=sanitize SCOPE=--all unit

asan: ## tests under AddressSanitizer (runners stay plain: they hold the candidate)
	@$(MAKE) --no-print-directory -j$$(nproc) VARIANT=asan SCOPE=--all unit

ubsan: ## tests under UndefinedBehaviorSanitizer
	@$(MAKE) --no-print-directory -j$$(nproc) VARIANT=ubsan SCOPE=--all unit

corpus: programs $(B)/naive ## judge the hostile and the honest corpora, print the confusion matrix
	@tests/corpora.sh $(B)

mutants: ## planted faults: the suite must notice each one
	@tests/mutants.sh

fuzz: ## libFuzzer on every parser, FUZZ_SECONDS each (default 30)
	@tools/setup.sh check
	@tools/fuzz.sh

bench: ## measure: tables and JSON lines on stdout, results below build/bench/
	@$(MAKE) --no-print-directory all $(BENCHES)
	@bench/run.sh $(B)

docs: all ## regenerate the pages that are printed from tables
	@tools/setup.sh check
	@tools/docs.sh $(B)/kgym docs

format: ## clang-format the tree
	@git ls-files '*.c' '*.h' | grep -v -e '^tests/hostile/' -e '^tests/honest/' -e '^tests/fixtures/' -e '^problems/' -e '^fuzz/corpus/' -e '^demo/' \
	  | xargs clang-format -i

clean: ## remove build/
	$(Q)rm -rf build

$(B)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(SAN) -MMD -MP -c $< -o $@

# What touches every element of every array. No contraction: the same bits on every machine, for replay.
$(B)/obj/src/gym/device/%.o $(B)/obj/src/gym/judge/%.o $(B)/obj/src/gym/values/%.o $(B)/obj/src/gym/verify/%.o: \
  CFLAGS += -O3 -march=$(MARCH) -ffp-contract=off

# The engine: equal bits in every form of its operations, so no contraction. Each form has its own flags.
$(B)/obj/src/lm/%.o $(B)/obj/src/rl/%.o: CFLAGS += -O3 -ffp-contract=off
ifeq ($(shell uname -m),x86_64)
$(B)/obj/src/lm/ops/avx2.o: CFLAGS += -mavx2 -mfma
$(B)/obj/src/lm/ops/avx512.o: CFLAGS += -mavx512f -mavx2 -mfma -mprefer-vector-width=512
endif
ifneq ($(SAN),)
# With optimisation and the places of variables, gcc takes minutes for each of them.
$(B)/obj/src/lm/ops/%.o: CFLAGS += -O1 -fno-var-tracking
endif

# The rest can be part of the shared library too (below). Each function has a section of its own, so that
# the libraries hold only what a public call reaches.
$(call obj,$(filter-out $(addprefix src/gym/,device/% judge/% values/% verify/%),$(BASE) $(GYM))): \
  CFLAGS += -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections

$(LIB): $(call obj,$(BASE) $(GYM) $(LM) $(RL) $(TRIAL) $(SVC))
	@rm -f $@
	$(call say,AR)
	$(Q)ar qcs $@ $^

$(B)/kgym: $(call obj,$(CLI)) $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(SAN) $^ -o $@ $(LIBS)

# The runner is never sanitized: it is the candidate's process and seals itself with an allow-list.
# It loads nothing that it need not: its filter is made here, and libffi is part of it where there is an archive.
FFI      = $(or $(filter /%,$(shell $(CC) -print-file-name=libffi.a)),$(shell pkg-config --libs libffi))
$(B)/kgym-runner: $(RUNNER) $(B)/runner-sealed.c src/gym/sandbox/seccomp_load.c src/runner/runner.h src/runner/sealed.h \
                  src/gym/run/wire.h src/gym/sandbox/sandbox.h src/gym/sandbox/seccomp.h
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(filter %.c,$^) -o $@ -Wl,-z,now -Wl,-z,relro $(FFI) -ldl -lpthread

$(B)/runner-sealed.c: src/runner/seal/print.c src/gym/sandbox/seccomp.c src/gym/sandbox/seccomp_load.c \
                      src/gym/sandbox/seccomp_python.c \
                      src/gym/sandbox/sandbox.h src/gym/sandbox/seccomp.h src/runner/sealed.h
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(CFLAGS) $(filter %.c,$^) -o $(@:.c=-print) $(shell pkg-config --libs libseccomp)
	@$(@:.c=-print) >$@.new && mv $@.new $@

# The operator library that references and candidates may call, with the flags they are built with.
$(B)/kgops/libkgops.so: $(wildcard kgops/*.c) $(wildcard kgops/*.h) $(wildcard kgops/*.inc)
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) -std=gnu17 -O3 -march=$(MARCH) -fPIC -shared -fvisibility=hidden $(WARN) -Ikgops \
	  $(filter %.c,$^) -o $@ -lm

# Two more builds of it for the stage profile: one counts its own time, one computes nothing.
$(B)/kgops-counted/libkgops.so: $(wildcard kgops/*.c kgops/*.h kgops/*.inc kgops/profiled/*) src/gym/run/wire.h
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) -std=gnu17 -O3 -march=$(MARCH) -fPIC -shared -fvisibility=hidden $(WARN) -Ikgops -Isrc \
	  -include kgops/profiled/inside.h $(wildcard kgops/*.c) kgops/profiled/counted.c -o $@ -lm

$(B)/kgops-stub/libkgops.so: kgops/profiled/stub.c kgops/temp.c kgops/kgops.h kgops/operators.h
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) -std=gnu17 -O3 -march=$(MARCH) -fPIC -shared -fvisibility=hidden $(WARN) -Ikgops \
	  $(filter %.c,$^) -o $@

$(B)/kgops/kgops.h: kgops/kgops.h
	@mkdir -p $(@D)
	@cp $< $@

# What a Python runner calls through ctypes: the sandbox's steps, from the same sources. Needs libc only.
LADDER  := $(wildcard $(patsubst %,src/gym/sandbox/%.c,child mounts netns ids landlock image seccomp_load)) \
           src/base/message.c src/base/ruleset.c
$(B)/libkgym_probe.so: $(wildcard src/probe/*.c) $(LADDER) $(wildcard src/probe/*.h) src/gym/tensor/tensor_wire.h src/gym/run/wire.h \
                       src/gym/sandbox/plan.h src/gym/sandbox/sandbox.h src/gym/sandbox/seccomp.h src/base/message.h \
                       src/base/ruleset.h
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) $(CFLAGS) -fPIC -shared -fvisibility=hidden -Wl,-z,defs -Wl,-z,now $(filter %.c,$^) -o $@ -ldl

$(B)/null.so: src/runner/null/null.c
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) -std=gnu17 -O2 -fPIC -shared $< -o $@

# The engine in f64, for the test that compares its gradients with central differences.
F64     := $(filter-out %/avx2.c %/avx512.c,$(wildcard $(patsubst %,src/lm/%/*.c,ops model train infer)))
$(B)/obj64/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CFLAGS) $(SAN) -DLM_F64 -O3 -march=$(MARCH) -ffp-contract=off -MMD -MP -c $< -o $@

$(B)/tests/test_lm_f64: $(patsubst %.c,$(B)/obj64/%.o,tests/unit/test_lm_f64.c $(F64)) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(SAN) $^ -o $@ -lcmocka $(LIBS)

$(B)/tests/%: $(B)/obj/tests/unit/%.o $(call obj,$(SUPPORT)) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(SAN) $^ -o $@ -lcmocka $(LIBS)

$(B)/tests/replay_%: $(B)/obj/fuzz/%.o $(B)/obj/fuzz/replay.o $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(SAN) $^ -o $@ $(LIBS)

# A driver on host memory, for tests of the CUDA device where there is no GPU.
$(B)/libfakecuda.so: tests/fake_cuda/fake_cuda.c tests/fake_cuda/fake_cuda.h $(KERNELS) \
                     src/gym/device/cuda_driver.h
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) $(CFLAGS) -O3 -ffp-contract=off -fPIC -shared $< -o $@ -lm

# Launch records that a test makes up.
$(B)/libfakecupti.so: tests/fake_cuda/fake_cupti.c tests/fake_cuda/fake_cupti.h src/probe/cupti_api.h
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) $(CFLAGS) -fPIC -shared $< -o $@

# What a driver says about a GPU that is not there.
$(B)/libfakenvml.so: tests/fake_cuda/fake_nvml.c tests/fake_cuda/fake_nvml.h
	@mkdir -p $(@D)
	$(call say,SO)
	$(Q)$(CC) $(CFLAGS) -fPIC -shared $< -o $@

# This object holds the text of the kernels.
$(B)/obj/src/gym/device/cuda_source.o: $(KERNELS)

# Holds the script of the Redis store.
$(B)/obj/src/svc/store_redis_group.o: src/svc/store_redis_traj.lua src/svc/store_redis.lua

# Holds the files of the dashboard.
$(B)/obj/src/svc/api_ui.o: $(wildcard web/*)

# Holds the description of the service's routes.
$(B)/obj/src/svc/openapi.o: src/svc/openapi.json

# Hold texts of first messages.
$(B)/obj/src/gym/prompt/demonstration.o: $(wildcard problems/demonstrations/*)
$(B)/obj/src/gym/native/operators.o: docs/kgops.md

# The positive control of the hostile corpus; exports its insides on purpose.
$(B)/naive: $(B)/obj/tests/naive/naive.o $(LIB)
	$(call say,LINK)
	$(Q)$(CC) $(SAN) -rdynamic $^ -o $@ $(LIBS)

$(B)/bench/%: $(B)/obj/bench/%.o $(call obj,$(wildcard bench/common/*.c)) $(LIB)
	@mkdir -p $(@D)
	$(call say,LINK)
	$(Q)$(CC) $(SAN) $^ -o $@ $(LIBS)

# The public library: what the calls of src/gym/kgym.h reach, and no other name. It needs jansson and libc only.
# Sanitized builds have none, because a sanitizer's own code would be a part of it.
VERSION := $(shell sed -n 's/^.define KG_VERSION "\(.*\)"/\1/p' src/base/version.h 2>/dev/null)
SOVER   := $(firstword $(subst ., ,$(VERSION)))
SHARED  := $(B)/libkgym.so.$(VERSION)
OBJCOPY ?= objcopy
CALLS    = $$(nm $(LIB) 2>/dev/null | awk '$$2 == "T" && $$3 ~ /^kgym_/ {print "-u", $$3}')
.PHONY: library
library: $(SHARED) $(B)/libkgym.a
PRINTED := $(B)/printed/made
ifeq ($(SAN),)
all: library $(PRINTED)
endif

$(SHARED): $(LIB) src/gym/kgym.map
	$(call say,SO)
	$(Q)$(CC) -shared $(CALLS) $(LIB) -o $@ -Wl,-soname,libkgym.so.$(SOVER) -Wl,--gc-sections \
	  -Wl,--version-script=src/gym/kgym.map -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -ljansson -lm -lpthread

$(B)/libkgym.a: $(LIB)
	$(call say,AR)
	$(Q)$(LD) -r --gc-sections $(CALLS) $(LIB) -o $(B)/kgym-public.o
	$(Q)$(OBJCOPY) --wildcard --keep-global-symbol='kgym_*' --strip-unneeded $(B)/kgym-public.o
	$(Q)rm -f $@
	$(Q)ar qcs $@ $(B)/kgym-public.o

# Installation: docs/install.md. What kgym itself prints (man pages, completion) is made by `all`, so that
# root, who installs, writes nothing into the build.
PREFIX  ?= /usr/local
DESTDIR ?=
.PHONY: install uninstall
install uninstall: export PREFIX := $(PREFIX)
install uninstall: export DESTDIR := $(DESTDIR)
install: all ## install below PREFIX (default /usr/local), staged below DESTDIR
	@tools/install.sh install $(B)

uninstall: ## remove what `make install` put below PREFIX
	@tools/install.sh uninstall

$(PRINTED): $(B)/kgym tools/man.sh tools/man.awk $(wildcard docs/*.md)
	@rm -rf $(@D)
	@mkdir -p $(@D)
	$(call say,MAN)
	$(Q)tools/man.sh $(B)/kgym $(@D)
	$(Q)$(B)/kgym completion bash >$(@D)/kgym.bash
	$(Q)$(B)/kgym completion zsh >$(@D)/_kgym
	@touch $@

-include $(shell find $(B)/obj $(B)/obj64 -name '*.d' 2>/dev/null)
.PRECIOUS: $(B)/obj/%.o $(B)/obj64/%.o
