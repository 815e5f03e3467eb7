/* kgym and what it cannot use: malformed replies and problems, defective problems, a host that
 * lacks the compiler, room or rights. */
#include "kgym_rig.h"

#define NO_TIMING "--no-stage-timing"
#define SILU      "#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"

static void test_malformed_replies_get_a_verdict(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    uint32_t x = 20260117;
    for (int i = 0; i < 200 * 1024; i++) {
        x = x * 1664525 + 1013904223;
        kg_buf_addc(&b, (char)(x >> 24));
    }
    rig_file("noise.md", b.data, b.len);
    kg_buf_deinit(&b);
    static const char nul[] = "```c\n" SILU "    y[0] = 0;\0\n}\n```\n";
    static const char latin[] = "```c\n" SILU "    y[0] = 0; /* \xe9\xff\xc0 */\n}\n```\n";
    rig_file("nul.md", nul, sizeof nul - 1);
    rig_file("latin.md", latin, sizeof latin - 1);
    rig_text("empty.md", "");
    rig_text("spaces.md", " \n\t\n");
    rig_expect(1, "head -c 300000 /dev/zero > zeros.md; $K eval silu zeros.md --json");
    static const char *const names[] = {"noise", "nul", "latin", "empty", "spaces"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rig_expect(1, "$K eval silu %s.md --json " NO_TIMING, names[i]);
        json_decref(rig_json());
        rig_expect(1, "$K eval silu %s.md " NO_TIMING, names[i]);
        assert_null(memchr(rig.out.data, 0, rig.out.len));
    }
    rig_expect(1, "$K eval silu noise.md --source --json " NO_TIMING);
    rig_expect(2, "mkdir -p folder; $K eval silu folder");
    rig_says("kgym eval: folder: cannot read: Is a directory");
    rig_expect(2, "$K eval silu nosuch.md");
    rig_says("kgym eval: nosuch.md: cannot open: No such file or directory");
    rig_expect(2, "$K eval ./nosuch.c nul.md");
    rig_says("./nosuch.c: no such problem file");
}

static void test_problems(void **state)
{
    (void)state;
    rig_expect(0, "$K problems list && $K problems list | wc -l | xargs test 16 -le");
    rig_shows("matmul");
    rig_expect(0, "$K problems list --json | head -1");
    json_t *j = rig_json();
    assert_string_equal(rig_get(j, "suite"), "native");
    json_decref(j);
    rig_expect(0, "$K problems show relu 2>/dev/null || $K problems show silu");
    rig_shows("name: silu");
    rig_shows("sha256");
    rig_expect(0, "$K problems check silu");
    rig_shows("ok");
    rig_expect(0, "$K problems check silu --json");
    j = rig_json();
    assert_true(json_is_true(json_object_get(j, "pass")));
    assert_true(json_array_size(json_object_get(j, "checks")) >= 10);
    json_decref(j);
    rig_expect(2, "$K problems list --suites nowhere");
    rig_says("suites: no folder `nowhere`");
}

/* What is quoted in a message neither drives the terminal nor makes a line of its own. */
static void test_messages_are_one_plain_line(void **state)
{
    (void)state;
    static const char said[] = "kgym eval: ./\xEF\xBF\xBD]0;x\xEF\xBF\xBD\xEF\xBF\xBD[2K kgym "
                               "eval: ok  reward 5.c: no such "
                               "problem file\n";
#define FORGED "P=$(printf './\\033]0;x\\007\\033[2K\\rkgym eval: ok\\r\\nreward 5.c'); touch a.c; "
    rig_expect(2, FORGED
               "$K eval \"$P\" a.c --json | jq -e '.error.message | test(\"[\\r\\n]\") | not'"
               " && exit 2");
    rig_expect(2, FORGED "$K eval \"$P\" a.c");
    assert_string_equal(rig.err.data, said);
    assert_int_equal(rig.out.len, 0);
}

#define HEAD                                                                                       \
    "/*---kgym\nname: p\nlevel: 1\nentry: p\ndims: {n: 4000}\nargs:\n"                             \
    "  - {name: x, type: \"f32[n]\", role: in}\n  - {name: y, type: \"f32[n]\", role: out}\n"      \
    "  - {name: n, type: i64, role: dim}\n---*/\n#include \"kgops.h\"\n"                           \
    "void p(const real *x, real *y, int64_t n)\n{\n"

static void test_malformed_problems_name_file_and_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } table[] = {
        {"", "p.c"},
        {"int x;\n", "p.c"},
        {"/*---kgym\nname: p\n", "p.c"},
        {"/*---kgym\nname: p\nlevl: 1\n---*/\nvoid p(void) {}\n", "p.c:3"},
        {"/*---kgym\nname: p\nlevl: 1\n---*/\nvoid p(void) {}\n", "level"},
        {"/*---kgym\nname: p\nlevel: 1\nentry: p\ndims: {n: m}\nargs: []\n---*/\n", "p.c:5"},
        {"/*---kgym\nname: p\nlevel: [\n---*/\n", "p.c:"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        rig_text("p.c", table[i].text);
        rig_expect(2, "$K problems show ./p.c");
        rig_says(table[i].message);
        rig_expect(2, "$K eval ./p.c $P/silu.fast.c");
        rig_says(table[i].message);
        rig_expect(1, "$K problems check ./p.c");
        rig_shows(table[i].message);
        rig_expect(1, "$K problems check ./p.c --json");
        json_t *j = rig_json();
        assert_true(json_is_false(json_object_get(j, "pass")));
        json_decref(j);
    }
    rig_expect(2, "mkdir -p d.c; $K problems show ./d.c");
    rig_expect(2, "head -c 100000 /dev/urandom > p.c; $K eval ./p.c $P/silu.fast.c");
    rig_says("p.c");
}

static void test_defective_problems_fail_the_check(void **state)
{
    (void)state;
    static const struct {
        const char *body, *message;
    } table[] = {
        {"    for (int64_t i = 0; i < n; i++) y[i] = 0 * x[i];\n}\n", "zeros"},
        {"    for (int64_t i = 0; i < n; i++) y[i] = x[i];\n}\n", "first input"},
        {"    for (int64_t i = 0; i < n; i++) y[i] = 3 + 0 * x[i];\n}\n", "frozen x"},
        {"    static real r; for (int64_t i = 0; i < n; i++) y[i] = x[i] + (r += 1);\n}\n",
         "reference"},
        {"    for (int64_t i = 0; i < n; i++) y[i] = x[i] * (sizeof(real) == 4 ? 2 : 3);\n}\n",
         "disagree"},
        {"    (void)n; y[0] = x[0];\n}\n", "does not write all of `y`"},
        {"    for (int64_t i = 0; i < n; i++) y[i] = x[i] + *(volatile int *)8;\n}\n",
         "reads memory that is not its own"},
        {"    nosuch(x, y, n);\n}\n", "does not build"},
        {"    y[0] = x[0] + n\n}\n", "does not build"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct kg_buf b;
        kg_buf_init(&b, 1 << 16);
        kg_buf_adds(&b, HEAD);
        kg_buf_adds(&b, table[i].body);
        rig_file("p.c", b.data, b.len);
        kg_buf_deinit(&b);
        rig_expect(1, "$K problems check ./p.c 2>&1");
        rig_shows(table[i].message);
        rig_expect(1, "$K problems check ./p.c --json");
        json_decref(rig_json());
    }
    /* One defect does not keep the others from being looked at. */
    rig_expect(1, "$K problems check ./p.c silu 2>&1");
    rig_shows("ok      silu");
}

static void test_a_missing_compiler_says_how_to_get_one(void **state)
{
    (void)state;
    rig_expect(2, "$K eval silu $P/silu.fast.c --set compiler=nope");
    rig_says("compiler `nope` cannot be run");
    rig_says("apt-get install gcc");
    rig_expect(2, "$K problems check silu --set compiler=/dev/null");
    rig_expect(2, "$K eval silu $P/silu.fast.c --set compiler=/bin/true");
    rig_expect(2, "$K eval silu $P/silu.fast.c --set compiler=");
    rig_text("in.jsonl", "{\"id\": \"a\", \"problem\": \"silu\", \"reply\": \"none\"}\n");
    rig_expect(2, "$K eval --batch in.jsonl --out out.jsonl --set compiler=nope");
    rig_says("compiler `nope` cannot be run");
    rig_expect(0, "test ! -s out.jsonl");
}

static void test_scratch_that_cannot_be_written(void **state)
{
    (void)state;
    rig_expect(2, "TMPDIR=/nosuch $K eval silu $P/silu.fast.c " NO_TIMING);
    rig_says("scratch: cannot make a folder like /nosuch/kgym-scratch-");
    rig_expect(2, "TMPDIR=/proc $K eval silu $P/silu.fast.c " NO_TIMING);
    rig_says("scratch: ");
    rig_expect(2, "TMPDIR=/nosuch $K eval silu $P/silu.fast.c --json " NO_TIMING);
    json_decref(rig_json());
    /* A cache that cannot be written costs time, not the verdict. */
    rig_expect(0, "KGYM_CACHE=/proc/nosuch $K eval silu $P/silu.fast.c " NO_TIMING);
}

static void test_an_output_that_cannot_be_written(void **state)
{
    (void)state;
    rig_text("in.jsonl", "{\"id\": \"a\", \"problem\": \"silu\", \"reply\": \"none\"}\n");
    rig_expect(2, "$K eval --batch in.jsonl --out /nosuch/out.jsonl");
    rig_says("/nosuch/out.jsonl: cannot write: No such file or directory");
    rig_expect(2, "mkdir -p folder; $K eval --batch in.jsonl --out folder");
    rig_says("folder: cannot write: Is a directory");
    rig_expect(2, "$K eval silu $P/silu.fast.c --json " NO_TIMING " > /dev/full");
    rig_says("standard output: cannot write: No space left on device");
    rig_expect(2, "$K problems list > /dev/full");
    rig_says("standard output: cannot write");
}

/* The whole of it as somebody without rights: the compiled program must be readable to them. */
static void test_it_judges_without_root(void **state)
{
    (void)state;
    if (geteuid() != 0 || rig_run("command -v setpriv") != 0 ||
        rig_run("setpriv --reuid=65534 --regid=65534 --clear-groups test -x \"$K\"") != 0) {
        print_message("skip: not root, no setpriv, or the build folder is not readable to all\n");
        skip();
    }
#define AS_NOBODY                                                                                  \
    "HOME=$PWD/home KGYM_CACHE=none setpriv --reuid=65534 --regid=65534 --clear-groups "
    rig_expect(0, "mkdir -p home && chmod 777 home; " AS_NOBODY
                  "$K eval silu $P/silu.fast.c --json " NO_TIMING);
    json_t *j = rig_json();
    assert_string_equal(rig_get(j, "verdict"), "ok");
    json_decref(j);
    rig_expect(1, AS_NOBODY "$K eval silu $P/silu.wrong.c " NO_TIMING);
    rig_expect(2, "mkdir -p locked && chmod 555 locked; TMPDIR=$PWD/locked " AS_NOBODY
                  "$K eval silu $P/silu.fast.c");
    rig_says("scratch: cannot make a folder like");
    rig_says("Permission denied");
    rig_text("in.jsonl", "{\"id\": \"a\", \"problem\": \"silu\", \"reply\": \"none\"}\n");
    rig_expect(2, AS_NOBODY "$K eval --batch in.jsonl --out locked/out.jsonl");
    rig_says("locked/out.jsonl: cannot write: Permission denied");
    assert_in_range(rig_run(AS_NOBODY "$K doctor --quick"), 0, 1);
    rig_shows(
        "candidates run under the user of kgym; run as root for a uid of their own (only root "
        "can give it a uid of its own)");
    assert_null(strstr(rig.out.data, "cgroup v0"));
    rig_shows("control groups");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_replies_get_a_verdict),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_messages_are_one_plain_line),
        cmocka_unit_test(test_malformed_problems_name_file_and_line),
        cmocka_unit_test(test_defective_problems_fail_the_check),
        cmocka_unit_test(test_a_missing_compiler_says_how_to_get_one),
        cmocka_unit_test(test_scratch_that_cannot_be_written),
        cmocka_unit_test(test_an_output_that_cannot_be_written),
        cmocka_unit_test(test_it_judges_without_root),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
