/* The control block: both sides lay it out alike; claims are checked; waits end. */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/json.h"
#include "gym/tensor/tensor_wire.h"
#include "gym/torch/problem/input_plan.h"

#define SECOND ((int64_t)1000000000)

/* What Python answers to a program of the harness's; NULL where there is no python3. */
static json_t *python_says(const char *program)
{
    char command[PATH_MAX + 2000], text[16384];
    const char *tree = getenv("KGYM_TREE"), *python = getenv("KGYM_PYTHON");
    snprintf(command, sizeof command,
             "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='%s/harness' '%s' -c '%s' 2>&1",
             tree != NULL ? tree : ".", python != NULL ? python : "python3", program);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text, f);
    int status = pclose(f);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
        return NULL;
    }
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    if (kg_json_parse(text, n, "python", &j, &err) != KG_OK) {
        fail_msg("%s\n%.*s", err.message, (int)n, text);
    }
    return j;
}

static json_t *need_python(const char *program)
{
    json_t *said = python_says(program);
    if (said == NULL) {
        printf("skip: there is no python3\n");
        skip();
    }
    return said;
}

struct field {
    const char *name;
    size_t offset, size;
};
#define F(type, member)                                                                            \
    {                                                                                              \
#member, offsetof(struct type, member), sizeof(((struct type *)0)->member)                 \
    }

static void compare(const json_t *layout, const char *which, const struct field *want, size_t n,
                    size_t size)
{
    const json_t *of = json_object_get(layout, which);
    const json_t *fields = json_object_get(of, "fields");
    assert_int_equal(json_integer_value(json_object_get(of, "size")), size);
    assert_int_equal(json_object_size(fields), n);
    for (size_t i = 0; i < n; i++) {
        const json_t *at = json_object_get(fields, want[i].name);
        if (json_integer_value(json_array_get(at, 0)) != (json_int_t)want[i].offset ||
            json_integer_value(json_array_get(at, 1)) != (json_int_t)want[i].size) {
            fail_msg("%s.%s: at %zu, %zu bytes here; elsewhere in Python", which, want[i].name,
                     want[i].offset, want[i].size);
        }
    }
}

static void test_python_lays_it_out_alike(void **state)
{
    (void)state;
    static const struct field leaf[] = {
        F(kg_tleaf, dtype),   F(kg_tleaf, rank),   F(kg_tleaf, offset), F(kg_tleaf, bytes),
        F(kg_tleaf, shape),   F(kg_tleaf, stride), F(kg_tleaf, copied), F(kg_tleaf, device),
        F(kg_tleaf, aliases), F(kg_tleaf, laid),   F(kg_tleaf, name)};
    static const struct field block[] = {F(kg_twire, magic),       F(kg_twire, version),
                                         F(kg_twire, go),          F(kg_twire, done),
                                         F(kg_twire, state),       F(kg_twire, announced),
                                         F(kg_twire, prepared),    F(kg_twire, command),
                                         F(kg_twire, flags),       F(kg_twire, request_bytes),
                                         F(kg_twire, nrequest),    F(kg_twire, nonce),
                                         F(kg_twire, seed),        F(kg_twire, in_bytes),
                                         F(kg_twire, out_bytes),   F(kg_twire, out_below),
                                         F(kg_twire, may_keep),    F(kg_twire, status),
                                         F(kg_twire, reply_bytes), F(kg_twire, nreply),
                                         F(kg_twire, building),    F(kg_twire, echo),
                                         F(kg_twire, call_ns),     F(kg_twire, peak_bytes),
                                         F(kg_twire, structure),   F(kg_twire, request),
                                         F(kg_twire, reply),       F(kg_twire, in),
                                         F(kg_twire, out),         F(kg_twire, fault_signal),
                                         F(kg_twire, fault_write), F(kg_twire, fault_address)};
    json_t *layout = need_python("import json\nfrom kgym_harness import wire\n"
                                 "print(json.dumps(wire.layout()))");
    compare(layout, "leaf", leaf, sizeof leaf / sizeof *leaf, sizeof(struct kg_tleaf));
    compare(layout, "wire", block, sizeof block / sizeof *block, sizeof(struct kg_twire));
    const json_t *types = json_object_get(layout, "dtypes");
    assert_int_equal(json_array_size(types), KG_TD_COUNT);
    for (int i = 0; i < KG_TD_COUNT; i++) {
        assert_string_equal(json_string_value(json_array_get(types, (size_t)i)),
                            kg_tdtype_name((enum kg_tdtype)i));
    }
    const json_t *said = json_object_get(layout, "commands");
    assert_int_equal(json_array_size(said), KG_TC_COUNT);
    for (size_t i = 0; i < KG_TC_COUNT; i++) {
        assert_string_equal(json_string_value(json_array_get(said, i)),
                            kg_tcommand_name((enum kg_tcommand)i));
    }
    assert_string_equal(kg_tcommand_name(KG_TC_CALL), "call");
    assert_string_equal(kg_tcommand_name(KG_TC_COUNT), "?");
    assert_int_equal(json_array_size(json_object_get(layout, "statuses")), KG_TA_COUNT);
    const json_t *laws = json_object_get(layout, "laws");
    assert_int_equal(json_array_size(laws), KG_TL_COUNT);
    for (size_t i = 0; i < KG_TL_COUNT; i++) {
        assert_string_equal(json_string_value(json_array_get(laws, i)),
                            kg_tlaw_name((enum kg_tlaw)i));
    }
    json_int_t law_at = json_integer_value(json_object_get(layout, "law_at"));
    json_int_t most = json_integer_value(json_object_get(layout, "law_most"));
    json_int_t which_at = json_integer_value(json_object_get(layout, "which_at"));
    assert_true(1 << law_at == KG_TF_LAW && most << law_at == KG_TF_LAWS);
    json_int_t which_most = json_integer_value(json_object_get(layout, "which_most"));
    json_int_t mate_at = json_integer_value(json_object_get(layout, "mate_at"));
    json_int_t mate_most = json_integer_value(json_object_get(layout, "mate_most"));
    assert_true(1 << which_at == KG_TF_WHICH && which_most << which_at == KG_TF_WHICHES);
    assert_true(1 << mate_at == KG_TF_MATE && mate_most << mate_at == KG_TF_MATES);
    assert_int_equal(json_integer_value(json_object_get(layout, "ahead")), KG_TF_AHEAD);
    json_int_t part_at = json_integer_value(json_object_get(layout, "part_at"));
    json_int_t parts = json_integer_value(json_object_get(layout, "part_most"));
    assert_true(1 << part_at == KG_TF_PART && parts << part_at == KG_TF_PARTS);
    assert_int_equal(json_integer_value(json_object_get(layout, "more")), KG_TF_MORE);
    assert_int_equal(json_integer_value(json_object_get(layout, "magic")), KG_TWIRE_MAGIC);
    assert_int_equal(json_integer_value(json_object_get(layout, "version")), KG_TWIRE_VERSION);
    json_decref(layout);
}

static struct kg_tleaf good(void)
{
    return (struct kg_tleaf){.dtype = KG_TD_F32,
                             .rank = 2,
                             .offset = 4096,
                             .bytes = 48,
                             .shape = {3, 4},
                             .stride = {4, 1},
                             .name = "x"};
}

/* What the word `building` says in turn, as a runner compiles: "waits" is written down when it asks
 * for its turn, which the trusted side then gives. */
static const char manners[] =
    "import json\n"
    "from kgym_harness import building, wire\n"
    "class Probe:\n"
    "    def wait(self, word, value):\n"
    "        told.append([word - 1000 == wire.Wire.building.offset, block.building, value])\n"
    "        block.building = 0\n"
    "block, told = wire.Wire(), []\n"
    "m = building.DeviceSharing(Probe(), block, 1000)\n"
    "def note(): told.append(block.building)\n"
    "with m.without_device(): note()\n"
    "block.flags = wire.POLITE\n"
    "with m.without_device():\n"
    "    with m.without_device(): note()\n"
    "    note()\n"
    "note()\n"
    "try:\n"
    "    with m.without_device(): raise KeyError\n"
    "except KeyError: note()\n"
    "class Owner:\n"
    "    def __init__(self, x, y=0): told.append([block.building, x, y])\n"
    "m._wrap(Owner, \"__init__\")\n"
    "Owner(7, y=8)\n"
    "print(json.dumps(told))\n";

static void test_a_runner_that_compiles_says_so(void **state)
{
    (void)state;
    json_t *told = need_python(manners);
    /* unasked; within both, after the inner one; its turn, and then it has the device */
    json_t *want =
        json_pack("[i, i, i, [b, i, i], i, [b, i, i], i, [i, i, i], [b, i, i]]", 0, KG_TB_BUSY,
                  KG_TB_BUSY, true, KG_TB_WAITS, KG_TB_WAITS, KG_TB_NONE, true, KG_TB_WAITS,
                  KG_TB_WAITS, KG_TB_NONE, KG_TB_BUSY, 7, 8, true, KG_TB_WAITS, KG_TB_WAITS);
    char *text = json_dumps(told, JSON_COMPACT);
    if (!json_equal(told, want)) {
        fail_msg("%s", text);
    }
    free(text);
    json_decref(told);
    json_decref(want);
}

static void test_claims_are_checked(void **state)
{
    (void)state;
    struct kg_tleaf l = good();
    assert_null(kg_twire_leaf_check(&l, 4096 + 48));
    assert_non_null(kg_twire_leaf_check(&l, 4096 + 47));
    l = good(), l.offset = UINT64_MAX - 47;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.bytes = 44;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.dtype = KG_TD_COUNT;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.rank = KG_TWIRE_RANK + 1;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.shape[0] = -3, l.shape[1] = -4;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.shape[0] = INT64_MAX, l.shape[1] = INT64_MAX;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.shape[0] = (int64_t)1 << 62, l.bytes = 0; /* 2^64 elements wrap to none */
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.shape[0] = (int64_t)1 << 60, l.bytes = 0; /* 2^62 elements: their bytes wrap */
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.offset = 4097;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), memset(l.name, 'a', sizeof l.name);
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.aliases = KG_TWIRE_LEAVES + 1;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    l = good(), l.shape[0] = 0, l.shape[1] = INT64_MAX, l.bytes = 0;
    assert_null(kg_twire_leaf_check(&l, 1 << 20));
    assert_int_equal(kg_tleaf_count(&l), 0);
    l = good(), l.rank = 0, l.bytes = 4; /* a scalar */
    assert_null(kg_twire_leaf_check(&l, 1 << 20));
    assert_int_equal(kg_tleaf_count(&l), 1);
}

/* Memory of inputs with strides of their own. An answer has none: it is contiguous in OUT. */
static void test_strides_reach(void **state)
{
    (void)state;
    struct kg_tleaf l = good(); /* [3, 4] */
    assert_int_equal(kg_tleaf_memory(&l), 12);
    l.laid = 1, l.stride[0] = 1, l.stride[1] = 3;
    assert_non_null(kg_twire_leaf_check(&l, 1 << 20));
    assert_int_equal(kg_tleaf_memory(&l), 12);
    assert_int_equal(kg_tleaf_at(&l, 5), 4); /* row 1, column 1 */
    l.stride[0] = 8, l.stride[1] = 2;
    assert_int_equal(kg_tleaf_memory(&l), 23);
    assert_int_equal(kg_tleaf_at(&l, 11), 22);
    kg_twire_place(&l, 1);
    assert_int_equal(l.bytes, 92);
    l.stride[0] = 0, l.stride[1] = 1;
    assert_int_equal(kg_tleaf_memory(&l), 4);
    l.stride[0] = -1;
    assert_int_equal(kg_tleaf_reach(&l), 0);
    l.stride[0] = INT64_MAX;
    assert_int_equal(kg_tleaf_reach(&l), 0);
    kg_tleaf_contiguous(&l);
    assert_int_equal(l.stride[0], 4);
    assert_int_equal(kg_tleaf_reach(&l), 12);
    l.laid = 0;
    assert_int_equal(kg_tleaf_at(&l, 5), 5);
}

static void test_leaves_are_placed_apart(void **state)
{
    (void)state;
    struct kg_tleaf l[3] = {good(), good(), good()};
    l[1].dtype = KG_TD_BOOL;
    l[2].shape[0] = 100;
    uint64_t need = kg_twire_place(l, 3);
    assert_int_equal(l[0].offset, KG_TWIRE_GUARD);
    assert_int_equal(l[1].bytes, 12);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(l[i].offset % KG_TWIRE_ALIGN, 0);
        assert_null(kg_twire_leaf_check(&l[i], need));
        uint64_t next = i < 2 ? l[i + 1].offset : need;
        assert_true(next >= l[i].offset + l[i].bytes + KG_TWIRE_GUARD);
    }
    assert_int_equal(kg_twire_place(l, 0), KG_TWIRE_GUARD);
}

/* A process that answers after ms, or (ms < 0) dies without an answer. */
static pid_t answerer(struct kg_twire *w, int ms, int *pidfd)
{
    uint32_t number = atomic_load(&w->go);
    pid_t pid = fork();
    if (pid == 0) {
        usleep((useconds_t)abs(ms) * 1000);
        if (ms >= 0) {
            atomic_store(&w->done, number);
        }
        _exit(0);
    }
    *pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    assert_true(*pidfd >= 0);
    return pid;
}

static void test_waits_end(void **state)
{
    (void)state;
    struct kg_twire *w =
        mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(w != MAP_FAILED);
    const uint64_t nonce[2] = {7, 9};
    static const struct {
        int ms;
        int64_t deadline;
        int want;
    } each[] = {{20, 60 * SECOND, 0},
                {-20, 60 * SECOND, KG_TWIRE_RUNNER_DEAD},
                {3000, SECOND / 20, KG_TWIRE_LATE}};
    for (size_t i = 0; i < 3; i++) {
        int pidfd;
        kg_twire_release(w, nonce);
        assert_int_equal(atomic_load(&w->go), i + 1);
        assert_true(w->nonce[0] == 7 && w->nonce[1] == 9);
        pid_t pid = answerer(w, each[i].ms, &pidfd);
        int rc = kg_twire_wait(w, pidfd, kg_clock_ns() + each[i].deadline, NULL);
        assert_int_equal(rc, each[i].want);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        close(pidfd);
    }
    volatile int cancelled = 1;
    assert_int_equal(kg_twire_wait(w, -1, kg_clock_ns() + 60 * SECOND, &cancelled), KG_TWIRE_LATE);
    munmap(w, sizeof *w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_python_lays_it_out_alike),
        cmocka_unit_test(test_a_runner_that_compiles_says_so),
        cmocka_unit_test(test_claims_are_checked),
        cmocka_unit_test(test_strides_reach),
        cmocka_unit_test(test_leaves_are_placed_apart),
        cmocka_unit_test(test_waits_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
