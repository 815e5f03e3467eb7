/* The extractor against the fixtures of tests/fixtures/replies, generated hostile input, and the
 * promises of its header. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/rng.h"
#include "gym/reply/extract.h"

#define ARENA_CAP (4u << 20)

static const char good[] = "void relu(const float *x, float *y, long n)\n{\n"
                           "    for (long i = 0; i < n; i++) {\n"
                           "        y[i] = x[i] > 0 ? x[i] : 0;\n    }\n}\n";

static struct kg_extract extract(const char *text, size_t len, struct kg_arena *arena)
{
    struct kg_extract x;
    struct kg_err err;
    assert_int_equal(kg_extract_reply(text, len, "stop", KG_LANG_C, "relu", arena, &x, &err),
                     KG_OK);
    if (x.found) {
        assert_non_null(x.code);
        assert_int_equal(x.code[x.bytes], '\0');
        assert_non_null(x.rule);
        assert_null(x.reason);
    } else {
        assert_null(x.code);
        assert_non_null(x.reason);
        assert_non_null(x.message);
        assert_null(strchr(x.message, '\n'));
    }
    return x;
}

static void read_fixture(const char *name, const char *suffix, struct kg_buf *out)
{
    const char *tree = getenv("KGYM_TREE");
    char path[600];
    snprintf(path, sizeof path, "%s/tests/fixtures/replies/%s%s", tree != NULL ? tree : ".", name,
             suffix);
    struct kg_err err;
    kg_buf_init(out, 4u << 20);
    if (kg_file_read(path, out, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
}

static int complaints; /* all fixtures are tried before the test fails */

static void complain(const char *fmt, ...) KG_PRINTF(1, 2);
static void complain(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vprint_error(fmt, ap);
    va_end(ap);
    print_error("\n");
    complaints++;
}

static void check_text(const char *name, const json_t *want, const char *key, const char *code)
{
    size_t i;
    json_t *s;
    bool present = strcmp(key, "contains") == 0;
    json_array_foreach(json_object_get(want, key), i, s)
    {
        if ((strstr(code, json_string_value(s)) != NULL) != present) {
            complain("%s: %s \"%s\" fails for:\n%s", name, key, json_string_value(s), code);
        }
    }
}

static void check_flags(const char *name, const json_t *want, uint32_t flags)
{
    uint32_t expected = 0;
    size_t i;
    json_t *s;
    json_array_foreach(json_object_get(want, "flags"), i, s)
    {
        for (int bit = 0; bit < KG_XF_COUNT; bit++) {
            expected |=
                strcmp(kg_extract_flag_name(bit), json_string_value(s)) == 0 ? 1u << bit : 0;
        }
    }
    if (expected != flags) {
        complain("%s: flags %#x, expected %#x", name, flags, expected);
    }
}

static void check_fixture(const char *name, const json_t *want)
{
    struct kg_buf text;
    read_fixture(name, ".txt", &text);
    struct kg_arena arena;
    kg_arena_init(&arena, "test", ARENA_CAP);
    struct kg_extract x;
    struct kg_err err;
    bool c = strcmp(json_string_value(json_object_get(want, "lang")), "c") == 0;
    const char *finish = json_string_value(json_object_get(want, "finish"));
    assert_int_equal(kg_extract_reply(text.data, text.len, finish, c ? KG_LANG_C : KG_LANG_PYTHON,
                                      json_string_value(json_object_get(want, "entry")), &arena, &x,
                                      &err),
                     KG_OK);
    bool found = json_is_true(json_object_get(want, "found"));
    const char *rule = json_string_value(json_object_get(want, "rule"));
    const char *reason = json_string_value(json_object_get(want, "reason"));
    if (x.found != found) {
        complain("%s: found %d (%s)", name, x.found, x.found ? x.rule : x.reason);
    }
    if (x.found == found && strcmp(found ? x.rule : x.reason, found ? rule : reason) != 0) {
        complain("%s: %s, expected %s", name, found ? x.rule : x.reason, found ? rule : reason);
    }
    check_flags(name, want, x.flags);
    if (found && x.found) {
        char hash[KG_SHA256_HEX];
        kg_sha256_hex(x.code, x.bytes, hash);
        const char *sha = json_string_value(json_object_get(want, "sha256"));
        if (sha != NULL && strcmp(sha, hash) != 0) {
            complain("%s: other code than expected:\n%s", name, x.code);
        }
        check_text(name, want, "contains", x.code);
        check_text(name, want, "lacks", x.code);
    }
    kg_arena_deinit(&arena);
    kg_buf_deinit(&text);
}

static void test_fixtures(void **state)
{
    (void)state;
    struct kg_buf text;
    read_fixture("expected", ".json", &text);
    struct kg_err err;
    json_t *all;
    assert_int_equal(kg_json_parse(text.data, text.len, "expected.json", &all, &err), KG_OK);
    assert_true(json_object_size(all) > 120);
    const char *name;
    json_t *want;
    json_object_foreach(all, name, want)
    {
        check_fixture(name, want);
    }
    json_decref(all);
    kg_buf_deinit(&text);
    assert_int_equal(complaints, 0);
}

static void test_truncation_keeps_the_end(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 8u << 20);
    kg_buf_addf(&b, "```c\nvoid relu(int first) { }\n```\n");
    while (b.len < 1u << 20) {
        kg_buf_adds(&b, "more and more words about \xC3\xA9 and speed\n");
    }
    kg_buf_addf(&b, "```c\n%s```\n", good);
    struct kg_arena arena;
    kg_arena_init(&arena, "test", ARENA_CAP);
    struct kg_extract x = extract(b.data, b.len, &arena);
    assert_true(x.found);
    assert_string_equal(x.code, good);
    assert_int_equal(x.flags, KG_XF_TRUNCATED);
    kg_arena_reset(&arena);
    /* The answer lies before the last 200 000 bytes: it is not seen. */
    b.len -= strlen(good) + 9;
    x = extract(b.data, b.len, &arena);
    assert_false(x.found);
    assert_string_equal(x.reason, "no_block");
    kg_arena_deinit(&arena);
    kg_buf_deinit(&b);
}

static void test_exactly_the_limit_is_not_truncated(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 1u << 20);
    while (b.len < KG_REPLY_MAX_BYTES - strlen(good) - 9) {
        kg_buf_addc(&b, b.len % 60 == 59 ? '\n' : 'a');
    }
    b.data[b.len - 1] = '\n';
    kg_buf_addf(&b, "```c\n%s```\n", good);
    assert_int_equal(b.len, KG_REPLY_MAX_BYTES);
    struct kg_arena arena;
    kg_arena_init(&arena, "test", ARENA_CAP);
    assert_int_equal(extract(b.data, b.len, &arena).flags, 0);
    kg_buf_addc(&b, '\n');
    assert_int_equal(extract(b.data, b.len, &arena).flags, KG_XF_TRUNCATED);
    kg_arena_deinit(&arena);
    kg_buf_deinit(&b);
}

/* What text is made of that could make a careless scanner slow. */
static const char *const units[] = {"```\n",
                                    "```c\n",
                                    "~~~~\n",
                                    "`",
                                    "> > > ```\n",
                                    "{",
                                    "((((",
                                    "/*",
                                    "\"",
                                    "'''\n```\n",
                                    "<code>",
                                    "<answer></code>",
                                    "<think>\n",
                                    "</think>\n",
                                    "```c\nrelu(\n```\n",
                                    "&lt;",
                                    "\\n",
                                    "relu ",
                                    "#if 1\n",
                                    "```c\n/*\n```\n",
                                    "\xff",
                                    "```python\n\"\"\"\n```\n",
                                    "<|x|>",
                                    "void relu(int a){\n",
                                    "1: relu\n",
                                    "{\"a\":\"relu\\n",
                                    ">>> relu\n",
                                    "R\"(",
                                    "#define relu(x) relu##x\n",
                                    "a##b relu("};

/* Noise of many kinds, 200 KB each: it must end. bench/bench_extract.c says how soon. */
static void test_noise_ends(void **state)
{
    (void)state;
    struct kg_buf b;
    kg_buf_init(&b, 1u << 20);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        kg_buf_reset(&b);
        while (b.len < KG_REPLY_MAX_BYTES) {
            kg_buf_adds(&b, units[i]);
        }
        for (int lang = 0; lang < 2; lang++) {
            struct kg_arena arena;
            struct kg_extract x;
            struct kg_err err;
            kg_arena_init(&arena, "test", ARENA_CAP);
            assert_int_equal(
                kg_extract_reply(b.data, b.len, NULL, (enum kg_lang)lang, "relu", &arena, &x, &err),
                KG_OK);
            kg_arena_deinit(&arena);
        }
    }
    kg_buf_deinit(&b);
}

static struct kg_rng seeded(uint64_t *seed)
{
    const char *given = getenv("KGYM_TEST_SEED");
    *seed = given != NULL ? strtoull(given, NULL, 0) : 20240607;
    print_message("seed %llu (KGYM_TEST_SEED repeats it)\n", (unsigned long long)*seed);
    struct kg_rng r;
    kg_rng_init(&r, (struct kg_key){{*seed, 1}}, 0);
    return r;
}

/* Prose without fences, tags or code around a good reply never changes the code. */
static void test_prose_around_changes_nothing(void **state)
{
    (void)state;
    static const char *const words[] = {"the", "kernel", "relu",  "x[i]",   "\n",     "\n\n", "-",
                                        "1.",  "`y`",    "it's",  "\"so\"", "(see",   "a)",   "{",
                                        "}",   "<b>",    "&amp;", "class",  "# note", "*",    ">"};
    uint64_t seed;
    struct kg_rng rng = seeded(&seed);
    struct kg_buf b;
    kg_buf_init(&b, 1u << 20);
    for (int round = 0; round < 300; round++) {
        kg_buf_reset(&b);
        for (int side = 0; side < 2; side++) {
            for (uint64_t n = kg_rng_below(&rng, 60); n > 0; n--) {
                kg_buf_addf(&b, "%s ", words[kg_rng_below(&rng, sizeof words / sizeof *words)]);
            }
            if (side == 0) {
                kg_buf_addf(&b, "\n```c\n%s```\n", good);
            }
        }
        struct kg_arena arena;
        kg_arena_init(&arena, "test", ARENA_CAP);
        struct kg_extract x = extract(b.data, b.len, &arena);
        if (!x.found || strcmp(x.code, good) != 0) {
            fail_msg("round %d: prose changed the code of:\n%s", round, b.data);
        }
        kg_arena_deinit(&arena);
    }
    kg_buf_deinit(&b);
    kg_rng_deinit(&rng);
}

/* Extracting from extracted code gives that code again, without new flags. */
static void test_idempotent_on_bare_code(void **state)
{
    (void)state;
    static const char *const sources[] = {
        good,
        "#include <math.h>\n#define N 4\nstatic const float t[N] = {1, 2, 3, 4};\nstruct s { int "
        "a; };\n"
        "void relu(float *x) { x[0] = t[0]; }\n",
        "#ifdef A\nvoid relu(int a) { }\n#else\nvoid relu(int b) { }\n#endif\n",
        "typedef float v8 __attribute__((vector_size(32)));\nstatic inline v8 f(v8 a) { return a; "
        "}\n"
        "__attribute__((noinline)) void relu(float *restrict x, long n) { (void)n; x[0] = 1; }",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct kg_arena arena;
        kg_arena_init(&arena, "test", ARENA_CAP);
        struct kg_extract x = extract(sources[i], strlen(sources[i]), &arena);
        assert_true(x.found);
        assert_string_equal(x.rule, "bare");
        assert_string_equal(x.code, sources[i]);
        struct kg_extract again = extract(x.code, x.bytes, &arena);
        assert_string_equal(again.code, x.code);
        assert_int_equal(again.flags, 0);
        kg_arena_deinit(&arena);
    }
}

static void test_arena_cap_is_an_error(void **state)
{
    (void)state;
    char text[8192];
    int n = snprintf(text, sizeof text, "```c\n%s%*s```\n", good, 6000, "\n");
    struct kg_arena arena;
    kg_arena_init(&arena, "tiny", 64);
    struct kg_extract x;
    struct kg_err err;
    assert_int_equal(kg_extract_reply(text, (size_t)n, NULL, KG_LANG_C, "relu", &arena, &x, &err),
                     KG_E_LIMIT);
    assert_non_null(strstr(err.message, "tiny"));
    kg_arena_deinit(&arena);
}

static void test_demonstration_is_flagged(void **state)
{
    (void)state;
    static const char copy[] = "/* mine */ void relu(const float*x,float*y,long n){"
                               "for(long i=0;i<n;i++){y[i]=x[i]>0?x[i]:0;}}";
    static const char other[] =
        "void relu(const float *x, float *y, long n) { y[0] = x[n - 1]; }\n";
    struct kg_extract x = {.found = true, .code = copy, .bytes = strlen(copy)};
    kg_extract_mark_demo(&x, KG_LANG_C, good, strlen(good));
    assert_int_equal(x.flags, KG_XF_DEMO);
    x = (struct kg_extract){.found = true, .code = other, .bytes = strlen(other)};
    kg_extract_mark_demo(&x, KG_LANG_C, good, strlen(good));
    assert_int_equal(x.flags, 0);
    x = (struct kg_extract){.found = false};
    kg_extract_mark_demo(&x, KG_LANG_C, "", 0);
    assert_int_equal(x.flags, 0);
}

static void test_messages(void **state)
{
    (void)state;
    static const struct {
        const char *reply, *message;
    } cases[] = {
        {"", "the reply is empty; expected one closed ```c block of C that defines `relu`"},
        {"words",
         "the reply holds no code block, and as a whole it is no source file with the entry; "
         "expected one closed ```c block of C that defines `relu`"},
        {"```c\nint a;\n```\n",
         "no code block defines the entry; expected one closed ```c block of "
         "C that defines `relu`"},
        {"```rust\nx\n```\n", "every code block is tagged as another language; expected one closed "
                              "```c block of C that defines `relu`"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kg_arena arena;
        kg_arena_init(&arena, "test", ARENA_CAP);
        assert_string_equal(extract(cases[i].reply, strlen(cases[i].reply), &arena).message,
                            cases[i].message);
        kg_arena_deinit(&arena);
    }
}

static void test_flag_names(void **state)
{
    (void)state;
    for (int i = 0; i < KG_XF_COUNT; i++) {
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(kg_extract_flag_name(i), kg_extract_flag_name(j));
        }
    }
    assert_string_equal(kg_extract_flag_name(3), "unclosed");
    assert_null(kg_extract_flag_name(KG_XF_COUNT));
    assert_null(kg_extract_flag_name(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixtures),
        cmocka_unit_test(test_truncation_keeps_the_end),
        cmocka_unit_test(test_exactly_the_limit_is_not_truncated),
        cmocka_unit_test(test_noise_ends),
        cmocka_unit_test(test_prose_around_changes_nothing),
        cmocka_unit_test(test_idempotent_on_bare_code),
        cmocka_unit_test(test_arena_cap_is_an_error),
        cmocka_unit_test(test_demonstration_is_flagged),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_flag_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
