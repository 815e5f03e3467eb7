/* What the tests of batches share: input lines of five kinds that alternate between two problems,
 * the output read back, a batch that is under way. */
#ifndef KG_TESTS_BATCH_RIG_H
#define KG_TESTS_BATCH_RIG_H

#include <time.h>

#include "kgym_rig.h"

#include "base/rng.h"

#define NO_TIMING "--no-stage-timing"
#define BATCH     "exec $K eval --batch in.jsonl --out out.jsonl " NO_TIMING
#define SILU      "#include <stdint.h>\nvoid silu(const float *x, float *y, int64_t n)\n{\n"
#define MAX_LINES 64

static struct kg_rng rng;

static inline int batch_setup(void **state)
{
    struct kg_key key = {{(uint64_t)time(NULL), 7}};
    const char *given = getenv("KGYM_TEST_SEED");
    char hex[33];
    if (given) {
        assert_true(kg_key_parse(given, &key));
        unsetenv("KGYM_TEST_SEED");
    }
    kg_key_hex(key, hex);
    print_message("seed %s (KGYM_TEST_SEED)\n", hex);
    kg_rng_init(&rng, key, 0);
    if (rig_setup(state) != 0) {
        return -1;
    }
    return rig_run("sed 's/^name: silu/name: other/' $T/problems/native/silu.c > other.c");
}

static inline void rest_ms(int64_t ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* input: lines of few kinds, each with a text of its own */

static inline void add_for(struct kg_buf *b, const char *problem, const char *id, const char *key,
                           const char *text)
{
    json_t *j = json_pack("{s:s, s:s, s:s}", "id", id, "problem", problem, key, text);
    kg_json_dump(j, b);
    kg_buf_addc(b, '\n');
    json_decref(j);
}

static inline void add(struct kg_buf *b, const char *id, const char *key, const char *text)
{
    add_for(b, "silu", id, key, text);
}

static inline void add_kind(struct kg_buf *b, int number, const char *salt)
{
    static const char *const bodies[] = {
        "    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (1 + expf(-x[i]));\n}\n",
        "    for (int64_t i = 0; i < n; i++) y[i] = x[i];\n}\n",
        "    y[0] = x[0] + n\n}\n",
        "    __builtin_trap();\n}\n",
    };
    const char *problem = number % 2 ? "other.c" : "silu";
    char id[32], text[600];
    snprintf(id, sizeof id, "line-%d", number);
    if (number % 5 == 4) {
        add_for(b, problem, id, "reply", "I would use a loop.");
        return;
    }
    snprintf(text, sizeof text, "#include <math.h>\n" SILU "    /* %d %s */\n%s", number, salt,
             bodies[number % 5]);
    add_for(b, problem, id, "source", text);
}

static inline void write_lines(int n, int changed)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    for (int i = 0; i < n; i++) {
        add_kind(&b, i, i == changed ? "changed" : "");
    }
    rig_file("in.jsonl", b.data, b.len);
    kg_buf_deinit(&b);
}

/* output */

static struct {
    int n;
    char id[MAX_LINES][32], problem[MAX_LINES][32], verdict[MAX_LINES][64], record[MAX_LINES][32];
    bool torn; /* the file does not end in a newline */
} got;

static inline void read_output(const char *path)
{
    struct kg_buf b;
    struct kg_err err = KG_ERR_INIT;
    memset(&got, 0, sizeof got);
    kg_buf_init(&b, 64u << 20);
    enum kg_code code = kg_file_read(path, &b, &err);
    assert_true(code == KG_OK || code == KG_E_NOT_FOUND);
    for (char *s = b.data, *nl; (nl = strchr(s, '\n')) && got.n < MAX_LINES; s = nl + 1) {
        json_t *j;
        if (kg_json_parse(s, (size_t)(nl - s), path, &j, &err) != KG_OK) {
            fail_msg("line %d of %s is not whole: %s", got.n + 1, path, err.message);
        }
        snprintf(got.id[got.n], sizeof got.id[0], "%s", rig_get(j, "batch_id"));
        snprintf(got.problem[got.n], sizeof got.problem[0], "%s",
                 rig_get(json_object_get(j, "problem"), "name"));
        snprintf(got.record[got.n], sizeof got.record[0], "%s", rig_get(j, "id"));
        snprintf(got.verdict[got.n], sizeof got.verdict[0], "%s/%s",
                 json_is_null(json_object_get(j, "error")) ? rig_get(j, "verdict") : "error",
                 rig_get(j, "reason"));
        got.n++;
        json_decref(j);
    }
    got.torn = b.len > 0 && b.data[b.len - 1] != '\n';
    kg_buf_deinit(&b);
}

/* Line i is that of input line i: its problem, with the verdict that its kind gets. */
static inline void check_lines(int n)
{
    static const char *const want[] = {"ok/", "wrong/value", "compile_error/syntax", "crash/signal",
                                       "no_code/no_block"};
    assert_true(got.n <= n);
    for (int i = 0; i < got.n; i++) {
        char id[32];
        snprintf(id, sizeof id, "line-%d", i);
        assert_string_equal(got.id[i], id);
        assert_string_equal(got.problem[i], i % 2 ? "other" : "silu");
        assert_string_equal(got.verdict[i], want[i % 5]);
    }
}

static inline pid_t start_batch(const char *more)
{
    char command[512];
    snprintf(command, sizeof command, "KGYM_CACHE=none " BATCH " %s", more);
    return rig_start(command);
}

#endif
