/* For tests of the corpora in tests/hostile and tests/honest: their fixtures, the page that
 * describes them, and the verdicts of all that a test picks. Everything is static: each test
 * program has its own. */
#ifndef KG_TESTS_UNIT_CORPUS_RIG_H
#define KG_TESTS_UNIT_CORPUS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/json.h"
#include "gym/batch/batch.h"
#include "gym/record/record.h"
#include "tests/support/fixture.h"

static struct fixture *hostile, *honest;
static size_t nhostile, nhonest;
static struct kg_buf page; /* docs/hacks.md */

static inline int load(void **state)
{
    (void)state;
    const char *tree = getenv("KGYM_TREE");
    char path[512];
    struct kg_err err = KG_ERR_INIT;
    setenv("KGYM_HOME", getenv("KGYM_BUILD"), 1);
    hostile = fixture_load(tree, "hostile", &nhostile);
    honest = fixture_load(tree, "honest", &nhonest);
    kg_buf_init(&page, 1 << 20);
    snprintf(path, sizeof path, "%s/docs/hacks.md", tree);
    if (kg_file_read(path, &page, &err) != KG_OK) {
        print_error("%s\n", err.message);
        return -1;
    }
    return hostile && honest ? 0 : -1;
}

static inline int unload(void **state)
{
    (void)state;
    free(hostile);
    free(honest);
    kg_buf_deinit(&page);
    return 0;
}

/* Batch input of those fixtures for which want holds. */
static inline size_t write_input(const char *path, const struct fixture *f, size_t n,
                                 bool (*want)(const struct fixture *))
{
    FILE *out = fopen(path, "w");
    size_t lines = 0;
    assert_non_null(out);
    for (size_t i = 0; i < n; i++) {
        if (want(&f[i])) {
            fprintf(out, "{\"id\": \"%s\", \"problem\": \"%s\", \"source_file\": \"%s\"}\n",
                    f[i].name, f[i].problem, f[i].path);
            lines++;
        }
    }
    fclose(out);
    return lines;
}

static inline const struct fixture *find(const struct fixture *f, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(f[i].name, name) == 0) {
            return &f[i];
        }
    }
    fail_msg("no fixture `%s`", name);
    return NULL;
}

/* Returns 1 where the record's verdict is not one that the fixture expects. */
static inline int judge_line(const struct fixture *f, size_t n, const char *line, size_t len)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    json_t *j;
    assert_int_equal(kg_json_parse(line, len, "record", &j, &err), KG_OK);
    assert_int_equal(kg_record_parse(j, &r, &err), KG_OK);
    json_decref(j);
    const struct fixture *one = find(f, n, r.batch_id);
    const char *verdict = r.verdict ? kg_verdict_name(r.verdict) : "none";
    bool as_expected = fixture_expects(one, verdict, r.reason);
    if (!as_expected && one->known[0] && r.verdict == KG_V_OK) {
        print_message("%s: a gap that is known: %s\n", one->name, one->known);
        as_expected = true;
    }
    if (!as_expected) {
        print_error("%s (%s): %s%s%s, expected %s: %s\n", one->name, one->entry, verdict,
                    r.reason ? "/" : "", r.reason ? r.reason : "", one->expect,
                    r.has_error ? r.error.message
                    : r.message ? r.message
                                : "");
    }
    if (one->hostile && r.output.stderr_text && strstr(r.output.stderr_text, "ESCAPED")) {
        print_error("%s: %s\n", one->name, r.output.stderr_text);
        as_expected = false;
    }
    kg_record_deinit(&r);
    return !as_expected;
}

static inline void judge(const char *what, const struct fixture *f, size_t n,
                         bool (*want)(const struct fixture *), struct kg_config *config,
                         enum kg_stage stop)
{
    char in[300], out[300];
    struct kg_err err = KG_ERR_INIT;
    struct kg_batch_result res;
    struct kg_buf text;
    int cpus[2], wrong = 0;
    snprintf(in, sizeof in, "%s/test-corpus-%s.in.jsonl", getenv("KGYM_BUILD"), what);
    snprintf(out, sizeof out, "%s/test-corpus-%s.out.jsonl", getenv("KGYM_BUILD"), what);
    remove(out);
    size_t lines = write_input(in, f, n, want);
    struct kg_batch_spec spec = {
        .in = in, .out = out, .jobs = kg_worker_cores(cpus, 2), .stop_after = kg_stage_name(stop)};
    if (kg_batch_run(config, &spec, &res, &err) != KG_OK) {
        fail_msg("%s", err.message);
    }
    kg_buf_init(&text, 64u << 20);
    assert_int_equal(kg_file_read(out, &text, &err), KG_OK);
    size_t seen = 0;
    for (const char *at = text.data, *nl; (nl = strchr(at, '\n')) != NULL; at = nl + 1, seen++) {
        wrong += judge_line(f, n, at, (size_t)(nl - at));
    }
    kg_buf_deinit(&text);
    assert_int_equal(seen, lines);
    assert_int_equal(wrong, 0);
}

static inline void defaults(struct kg_config *config)
{
    kg_opts_defaults(kg_config_options(), config);
    snprintf(config->cache, sizeof config->cache, "%s/test-cache", getenv("KGYM_BUILD"));
}

#endif
