/* For tests of KernelBench's formats: a folder of the test's own, files in it, text to JSON. */
#ifndef KG_TESTS_UNIT_KB_RIG_H
#define KG_TESTS_UNIT_KB_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))
#define NEAR(got, want, tol)                                                                       \
    do {                                                                                           \
        double g_ = (got), w_ = (want);                                                            \
        if (!(fabs(g_ - w_) <= (tol))) {                                                           \
            fail_msg("%s = %.17g, expected %.17g", #got, g_, w_);                                  \
        }                                                                                          \
    } while (0)
/* The call fails, with this code and a message that holds text. */
#define FAILS(call, want, text)                                                                    \
    do {                                                                                           \
        struct kg_err err = KG_ERR_INIT;                                                           \
        assert_int_equal(call, want);                                                              \
        if (!strstr(err.message, text)) {                                                          \
            fail_msg("`%s` lacks `%s`", err.message, text);                                        \
        }                                                                                          \
    } while (0)
#define WORKS(call)                                                                                \
    do {                                                                                           \
        struct kg_err err = KG_ERR_INIT;                                                           \
        if ((call) != KG_OK) {                                                                     \
            fail_msg("%s", err.message);                                                           \
        }                                                                                          \
    } while (0)

static char kb_dir[64], kb_tree[512];

static inline int kb_enter(void **state)
{
    (void)state;
    const char *tree = getenv("KGYM_TREE");
    char *whole = realpath(tree ? tree : ".", NULL);
    snprintf(kb_tree, sizeof kb_tree, "%s", whole ? whole : "");
    free(whole);
    snprintf(kb_dir, sizeof kb_dir, "/tmp/kgym-test-kb-XXXXXX");
    return mkdtemp(kb_dir) == NULL || chdir(kb_dir) != 0;
}

static inline int kb_leave(void **state)
{
    (void)state;
    struct kg_err err = KG_ERR_INIT;
    return chdir("/") != 0 || kg_file_remove_tree(kb_dir, &err) != KG_OK;
}

static inline void kb_put(const char *path, const char *text)
{
    char folder[512];
    const char *slash = strrchr(path, '/');
    if (slash) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        WORKS(kg_file_mkdirs(folder, 0755, &err));
    }
    WORKS(kg_file_write_atomic(path, text, strlen(text), &err));
}

/* The caller frees. */
static inline char *kb_get(const char *path)
{
    struct kg_buf b;
    kg_buf_init(&b, 16u << 20);
    WORKS(kg_file_read(path, &b, &err));
    return kg_buf_detach(&b);
}

static inline json_t *kb_json(const char *text)
{
    json_t *j = NULL;
    WORKS(kg_json_parse(text, strlen(text), "text", &j, &err));
    return j;
}

/* The same values with the same keys in the same order, reals to 12 digits; at names the place. */
static inline void kb_same(const json_t *got, const json_t *want, const char *at)
{
    char below[512];
    bool number = json_is_real(got) && json_is_real(want);
    if (number &&
        fabs(json_real_value(got) - json_real_value(want)) <= 1e-12 * fabs(json_real_value(want))) {
        return;
    }
    if (json_typeof(got) != json_typeof(want) || json_array_size(got) != json_array_size(want) ||
        json_object_size(got) != json_object_size(want) ||
        (!json_is_array(got) && !json_is_object(got) && !json_equal(got, want))) {
        char *g = json_dumps(got, JSON_ENCODE_ANY), *w = json_dumps(want, JSON_ENCODE_ANY);
        fail_msg("%s: %.400s instead of %.400s", at, g, w);
    }
    for (size_t i = 0; i < json_array_size(got); i++) {
        snprintf(below, sizeof below, "%s[%zu]", at, i);
        kb_same(json_array_get(got, i), json_array_get(want, i), below);
    }
    json_t *g = (json_t *)(uintptr_t)got, *w = (json_t *)(uintptr_t)want;
    void *i = json_object_iter(g), *k = json_object_iter(w);
    for (; i; i = json_object_iter_next(g, i), k = json_object_iter_next(w, k)) {
        snprintf(below, sizeof below, "%s.%s", at, json_object_iter_key(i));
        assert_string_equal(json_object_iter_key(i), json_object_iter_key(k));
        kb_same(json_object_iter_value(i), json_object_iter_value(k), below);
    }
}

/* j, printed and read again, is what the fixture holds. Steals j. */
static inline void kb_golden(json_t *j, const char *fixture)
{
    char path[700];
    struct kg_buf printed;
    snprintf(path, sizeof path, "%s/tests/fixtures/kernelbench/%s", kb_tree, fixture);
    kg_buf_init(&printed, 16u << 20);
    kg_json_dump_pretty(j, &printed);
    char *text = kb_get(path);
    json_t *got = kb_json(printed.data), *want = kb_json(text);
    kb_same(got, want, fixture);
    json_decref(got);
    json_decref(want);
    json_decref(j);
    free(text);
    kg_buf_deinit(&printed);
}

#endif
