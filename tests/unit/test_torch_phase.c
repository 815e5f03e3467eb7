/* Whose kernels run in which call: candidates that are played call by call through the probe and a
 * CUPTI that is played, from launches to what is said of them. A launch is the candidate's own
 * where this program makes it, a library's where an object below the library's folder does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <unistd.h>

#include "base/file.h"
#include "gym/torch/profile/phase.h"
#include "probe/profile.h"
#include "tests/fake_cuda/fake_cupti.h"

typedef __typeof__(kg_fake_cupti_launch) launch_fn;

static struct {
    __typeof__(kg_prof_open) *open;
    __typeof__(kg_prof_begin) *begin;
    __typeof__(kg_prof_end) *end;
    __typeof__(kg_prof_take) *take;
    launch_fn *launch;
    __typeof__(kg_fake_cupti_graph) *graph;
    __typeof__(kg_fake_cupti_wait) *wait;
    void (*library)(launch_fn *f, const char *name, void *params); /* launches in another's name */
} at;

static char folder[64];
static struct kg_tphase phase;

static const char library_source[] =
    "#include <stdbool.h>\n#include <stdint.h>\n"
    "void library(void (*f)(uint32_t, const char *, void *, uint64_t, uint64_t, bool),\n"
    "             const char *name, void *params)\n"
    "{\n    f(%d, name, params, 100, 0, false);\n    __asm__ volatile(\"\");\n}\n";

/* --- the instance --- */

static void *object(const char *folder_of, const char *name, const char *variable)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder_of, name);
    if (variable) {
        setenv(variable, path, 1);
    }
    void *handle = dlopen(path, RTLD_NOW);
    if (!handle) {
        print_error("%s\n", dlerror());
    }
    return handle;
}

/* An object of one function, in a folder that is a library's. */
static void *make_library(void)
{
    char text[1000], path[128], command[400];
    struct kg_err err = KG_ERR_INIT;
    snprintf(folder, sizeof folder, "/tmp/kgym-phase-XXXXXX");
    if (!mkdtemp(folder)) {
        return NULL;
    }
    snprintf(path, sizeof path, "%s/library.c", folder);
    snprintf(text, sizeof text, library_source, KG_CUPTI_LAUNCH);
    snprintf(command, sizeof command, "gcc -shared -fPIC -o %s/library.so %s", folder, path);
    bool made = kg_file_write_atomic(path, text, strlen(text), &err) == KG_OK;
    return made && system(command) == 0 ? object(folder, "library.so", NULL) : NULL;
}

static int setup(void **state)
{
    (void)state;
    const char *build = getenv("KGYM_BUILD");
    build = build ? build : "build/release";
    void *probe = object(build, "libkgym_probe.so", NULL);
    void *fake = object(build, "libfakecupti.so", "KGYM_LIBCUPTI"), *library = make_library();
    if (!probe || !fake || !library || !object(build, "libfakecuda.so", "KGYM_LIBCUDA")) {
        return -1;
    }
    *(void **)&at.open = dlsym(probe, "kg_prof_open");
    *(void **)&at.begin = dlsym(probe, "kg_prof_begin");
    *(void **)&at.end = dlsym(probe, "kg_prof_end");
    *(void **)&at.take = dlsym(probe, "kg_prof_take");
    *(void **)&at.launch = dlsym(fake, "kg_fake_cupti_launch");
    *(void **)&at.graph = dlsym(fake, "kg_fake_cupti_graph");
    *(void **)&at.wait = dlsym(fake, "kg_fake_cupti_wait");
    *(void **)&at.library = dlsym(library, "library");
    return at.wait && at.library && at.open(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return kg_file_remove_tree(folder, &err) == KG_OK ? 0 : -1;
}

/* --- candidates --- */

static void own(const char *name)
{
    struct kg_launch_params p = {.function = &p};
    at.launch(KG_CUPTI_LAUNCH, name, &p, 300, 0, false);
}

static void library(const char *name)
{
    struct kg_launch_params p = {.function = &p};
    at.library(at.launch, name, &p);
}

/* Into a graph that is being captured. */
static void capture(const char *name, uint64_t node)
{
    struct kg_launch_params p = {.function = &p};
    at.launch(KG_CUPTI_LAUNCH, name, &p, 0, node, false);
}

static void honest(int n, enum kg_tlaw law)
{
    (void)n;
    (void)law;
    library("fill");
    own("relu");
}

static void packs_first(int n, enum kg_tlaw law)
{
    if (n == 1) {
        own("pack");
        library("transpose");
    }
    honest(n, law);
}

/* Both ways in turn, then the faster one. */
static void tunes(int n, enum kg_tlaw law)
{
    (void)law;
    if (n > 8 || n % 2 == 0) {
        library("clamp");
    } else {
        own("relu");
    }
}

static void tunes_for_long(int n, enum kg_tlaw law)
{
    (void)law;
    if (n > 20 || n == 1) {
        library("clamp");
    } else {
        own("relu");
    }
}

static void settles_for_another(int n, enum kg_tlaw law)
{
    (void)law;
    own(n > 20 ? "relu_wide" : "relu");
}

static void branches(int n, enum kg_tlaw law)
{
    (void)n;
    if (law == KG_TL_SPARSE) {
        library("clamp");
    } else {
        own("relu");
    }
}

static void renews_a_table(int n, enum kg_tlaw law)
{
    if (n % 7 == 0) {
        own("table");
    }
    honest(n, law);
}

static void captures_late(int n, enum kg_tlaw law)
{
    static const uint64_t node = 901;
    (void)law;
    if (n == 14) {
        capture("relu", node);
    }
    if (n < 14) {
        own("relu");
    } else {
        at.graph(&node, 1, 200);
    }
}

/* Its nodes were added by hand: nobody knows whose they are. */
static void graph_by_hand(int n, enum kg_tlaw law)
{
    static const uint64_t node = 902;
    (void)law;
    if (n < 14) {
        own("relu");
    } else {
        at.graph(&node, 1, 200);
    }
}

static void now_and_then(int n, enum kg_tlaw law)
{
    (void)law;
    if (n > 12 && n % 5 != 0) {
        library("clamp");
    } else {
        own("relu");
    }
}

static void one_slip(int n, enum kg_tlaw law)
{
    (void)law;
    if (n == 30) {
        library("clamp");
    } else {
        own("relu");
    }
}

static void leave_at(int call, int n)
{
    if (n < call) {
        own("relu");
    } else {
        library("clamp");
    }
}

static void leaves(int n, enum kg_tlaw law)
{
    (void)law;
    library("fill");
    leave_at(25, n);
}

static void leaves_on_other_values_first(int n, enum kg_tlaw law)
{
    (void)law;
    leave_at(24, n);
}

/* It has tried what it settles for, on other values. */
static void branches_then_settles(int n, enum kg_tlaw law)
{
    if (law == KG_TL_SPARSE || n > 24) {
        library("clamp");
    } else {
        own("relu");
    }
}

static void leaves_after_its_set_up(int n, enum kg_tlaw law)
{
    (void)law;
    leave_at(KG_TPHASE_WARMUP + 1, n);
}

static void leaves_at_the_end(int n, enum kg_tlaw law)
{
    (void)law;
    leave_at(37, n);
}

static const struct {
    const char *name;
    void (*call)(int n, enum kg_tlaw law);
    int changed;        /* call; 0 none */
    enum kg_tlaw other; /* values that change its kernels */
    bool left;
} candidates[] = {
    {"honest", honest, 0, KG_TL_OWN, false},
    {"packs in its first call", packs_first, 0, KG_TL_OWN, false},
    {"tunes while it warms up", tunes, 0, KG_TL_OWN, false},
    {"tunes for long", tunes_for_long, 21, KG_TL_OWN, false},
    {"settles for another of its own", settles_for_another, 21, KG_TL_OWN, false},
    {"branches on values", branches, 0, KG_TL_SPARSE, false},
    {"renews a table now and then", renews_a_table, 18, KG_TL_OWN, false},
    {"captures late", captures_late, 0, KG_TL_OWN, false},
    {"a graph by hand", graph_by_hand, 15, KG_TL_OWN, false},
    {"a library's now and then", now_and_then, 13, KG_TL_OWN, false},
    {"a library's once", one_slip, 30, KG_TL_OWN, false},
    {"leaves", leaves, 25, KG_TL_OWN, true},
    {"leaves, on other values first", leaves_on_other_values_first, 24, KG_TL_OWN, true},
    {"branches on values, then settles", branches_then_settles, 25, KG_TL_OWN, false},
    {"leaves after its set-up", leaves_after_its_set_up, 0, KG_TL_OWN, false},
    {"leaves where nobody looks any more", leaves_at_the_end, 37, KG_TL_OWN, false},
};

#define CALLS 40 /* every fourth on other values */

static void one_call(size_t which, int n, enum kg_tlaw law)
{
    static char text[64 << 10];
    static struct kg_tprofile call;
    json_error_t e;
    at.wait(10);
    at.begin();
    at.wait(10);
    candidates[which].call(n, law);
    at.wait(10);
    at.end();
    assert_true(at.take(text, sizeof text) > 0);
    json_t *reply = json_loads(text, 0, &e);
    memset(&call, 0, sizeof call);
    const char *why = kg_tprofile_add(&call, reply, 1000000);
    if (why) {
        fail_msg("%s, call %d: %s: %s", candidates[which].name, n, why, text);
    }
    kg_tphase_note(&phase, law, 7, &call);
    json_decref(reply);
}

static void play(size_t which)
{
    memset(&phase, 0, sizeof phase);
    for (int n = 1; n <= CALLS; n++) {
        one_call(which, n, n % 4 == 0 ? KG_TL_SPARSE : n % 2 ? KG_TL_OWN : KG_TL_NEW);
    }
}

/* --- tests --- */

static void what_is_said_of_them(void **state)
{
    (void)state;
    int bad = 0;
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        play(i);
        enum kg_tlaw other = phase.changed ? KG_TL_OWN : kg_tphase_by_values(&phase);
        if (phase.changed != candidates[i].changed || other != candidates[i].other ||
            kg_tphase_left(&phase) != candidates[i].left) {
            print_error("%s: changed %lld, other %s, left %d\n", candidates[i].name,
                        (long long)phase.changed, kg_tlaw_name(other), kg_tphase_left(&phase));
            bad++;
        }
        assert_int_equal(phase.calls, CALLS);
    }
    assert_int_equal(bad, 0);
}

/* Other inputs of the same law are compared with their own kind. */
static void new_inputs_begin_anew(void **state)
{
    (void)state;
    struct kg_tprofile call = {.n = 1, .kernel[0] = {.name = "a", .owner = KG_TO_OWN, .calls = 1}};
    memset(&phase, 0, sizeof phase);
    for (int n = 0; n < 40; n++) {
        call.kernel[0].calls = n < 20 ? 1 : 2;
        kg_tphase_note(&phase, KG_TL_OWN, n < 20 ? 1 : 2, &call);
    }
    assert_int_equal(phase.changed, 0);
    call.kernel[0].calls = 1; /* as often is part of it */
    kg_tphase_note(&phase, KG_TL_OWN, 2, &call);
    assert_int_equal(phase.changed, 41);
}

/* More kernels than are kept: nobody knows what was tried. */
static void too_many_to_remember(void **state)
{
    (void)state;
    static struct kg_tprofile call;
    for (int full = 0; full < 2; full++) {
        memset(&phase, 0, sizeof phase);
        for (int n = 0; n < 60; n++) {
            memset(&call, 0, sizeof call);
            call.n = n < 30 && full ? 20 : 1;
            for (size_t k = 0; k < call.n; k++) {
                call.kernel[k].owner = n < 30 ? KG_TO_OWN : KG_TO_LIBRARY;
                call.kernel[k].calls = 1;
                snprintf(call.kernel[k].name, sizeof call.kernel[k].name, "k%d_%zu",
                         n < 30 ? full ? n : 0 : 99, k);
            }
            kg_tphase_note(&phase, KG_TL_OWN, 1, &call);
        }
        assert_int_equal(kg_tphase_left(&phase), !full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_of_them),
        cmocka_unit_test(new_inputs_begin_anew),
        cmocka_unit_test(too_many_to_remember),
    };
    return cmocka_run_group_tests(tests, setup, leave);
}
