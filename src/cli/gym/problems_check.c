/* kgym problems check: is a problem fit to judge with? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/term.h"
#include "cli/gym/problems.h"
#include "cli/gym/problems_set.h"
#include "gym/eval/executor.h"
#include "gym/eval/findings.h"
#include "gym/pool/configured.h"

#define LOOK_EVERY_MS 50 /* whether a signal came */

struct checking {
    const struct kg_cli_check *c;
    struct kgym_pool *pool;
    struct kg_cli_aside aside;
    struct kg_progress bar;
    bool shows_bar;
    struct kg_err lacks[KG_EXECUTORS_MAX]; /* why none of this kind can be checked; KG_OK: it can */
    int64_t untried[KG_EXECUTORS_MAX];     /* for that reason */
    int64_t of, fit, untimed, known, done;
    int status;
};

static void worse(struct checking *k, int status)
{
    k->status = status > k->status ? status : k->status;
}

/* --- one of them --- */

static void clear_bar(const struct checking *k)
{
    if (k->shows_bar) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}

static void print_json(const json_t *j)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    kg_json_dump(j, &b);
    puts(b.data);
    fflush(stdout);
    kg_buf_deinit(&b);
}

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s ? s : "";
}

/* A row is named by its line as well; what has no name, by what it was asked for. */
static void label(const struct kg_cli_item *it, const json_t *found, char *out, size_t cap)
{
    const char *name = text(found, "problem"), *slash = strrchr(it->word, '/');
    const char *base = slash ? slash + 1 : it->word;
    bool named = strcmp(name, it->word) != 0 && strcmp(name, it->path) != 0;
    bool row = named && strchr(base, '#');
    snprintf(out, cap, "%s%s%s",
             row     ? base
             : named ? name
                     : it->word,
             row ? " " : "", row ? name : "");
}

static void print_sizes(const json_t *found, struct kg_buf *b)
{
    const json_t *ns = json_object_get(found, "reference_ns");
    const json_t *in = json_object_get(found, "in_bytes");
    if (json_is_integer(ns) && !json_is_true(json_object_get(found, "untimed"))) {
        kg_buf_addf(b, "  reference %7.3f ms", (double)json_integer_value(ns) * 1e-6);
    }
    if (json_integer_value(in) > 0) {
        kg_buf_addf(b, "  %6.1f KB in, %6.1f KB out", (double)json_integer_value(in) / 1024,
                    (double)json_integer_value(json_object_get(found, "out_bytes")) / 1024);
    }
}

static void print_text(const struct kg_cli_item *it, const json_t *found, bool known)
{
    bool colour = kg_term_colour(stdout), pass = json_is_true(json_object_get(found, "pass"));
    bool untimed = json_is_true(json_object_get(found, "untimed"));
    const json_t *checks = json_object_get(found, "checks");
    size_t n = json_array_size(checks), i;
    char name[400];
    struct kg_buf b, plain;
    json_t *c;
    kg_buf_init(&b, 1 << 16);
    kg_buf_init(&plain, 4096);
    label(it, found, name, sizeof name);
    kg_term_add_line(&plain, name);
    kg_term_add(&b, colour,
                !pass     ? KG_RED
                : untimed ? KG_YELLOW
                          : KG_GREEN,
                !pass     ? "DEFECT  "
                : untimed ? "UNTIMED "
                          : "ok      ");
    kg_buf_addf(&b, "%-18s %2zu check%s", plain.data, n, n == 1 ? "" : "s");
    print_sizes(found, &b);
    kg_buf_adds(&b, known ? "  (checked before)\n" : "\n");
    json_array_foreach((json_t *)(uintptr_t)checks, i, c)
    {
        bool note = json_is_true(json_object_get(c, "note"));
        if (note || json_is_false(json_object_get(c, "pass"))) {
            kg_buf_addf(&b, "        %s%s: ", note ? "note, " : "", text(c, "check"));
            kg_term_add_line(&b, text(c, "detail"));
            kg_buf_addc(&b, '\n');
        }
    }
    fputs(b.data, stdout);
    fflush(stdout);
    kg_buf_deinit(&plain);
    kg_buf_deinit(&b);
}

static void put_aside(struct checking *k, const struct kg_cli_item *it, const json_t *found)
{
    const json_t *checks = json_object_get(found, "checks");
    struct kg_buf why;
    char name[400];
    size_t i;
    json_t *c;
    kg_buf_init(&why, 4096);
    json_array_foreach((json_t *)(uintptr_t)checks, i, c)
    {
        if (json_is_false(json_object_get(c, "pass"))) {
            kg_buf_addf(&why, "%s%s", why.len ? ", " : "", text(c, "check"));
        }
    }
    label(it, found, name, sizeof name);
    kg_cli_aside_add(&k->aside, name, why.data);
    kg_buf_deinit(&why);
}

static void tell(struct checking *k, const struct kg_cli_item *it, json_t *found, bool known)
{
    const char *path = it->path[0] ? it->path : it->word;
    bool pass = json_is_true(json_object_get(found, "pass"));
    json_object_set_new(found, "path", kg_json_text(path, strlen(path)));
    k->of++;
    k->fit += pass;
    k->untimed += pass && json_is_true(json_object_get(found, "untimed"));
    k->known += known;
    clear_bar(k);
    if (k->c->json) {
        print_json(found);
    } else {
        print_text(it, found, known);
    }
    if (!pass) {
        put_aside(k, it, found);
        worse(k, KG_STATUS_BAD);
    }
}

/* What could not be looked at is put aside as well: nobody may take it for fit. */
static void tell_error(struct checking *k, const struct kg_cli_item *it, const struct kg_err *err)
{
    k->of++;
    worse(k, KG_STATUS_ERROR);
    clear_bar(k);
    kg_cli_fail("problems", err);
    kg_cli_aside_add(&k->aside, it->word, "it could not be looked at");
    if (k->c->json) {
        json_t *j = json_pack("{s:o, s:n, s:{s:s, s:s, s:o}}", "problem",
                              kg_json_text(it->word, strlen(it->word)), "pass", "error", "code",
                              kg_code_name(err->code), "blame", kg_blame_name(err->blame),
                              "message", kg_json_text(err->message, strlen(err->message)));
        print_json(j);
        json_decref(j);
    }
}

/* --- what is known of it --- */

/* By an earlier check, on a device of this kind; NULL: nothing. */
static json_t *known_of(const struct checking *k, const struct kg_cli_item *it)
{
    struct kg_err ignored = KG_ERR_INIT;
    const struct kg_executor *x = kg_executor_of_path(it->path);
    struct kg_problem_facts facts;
    char path[1200];
    json_t *card = NULL, *found = NULL;
    snprintf(path, sizeof path, "%s", it->path);
    if (!path[0] &&
        kg_executor_find(k->c->paths, it->word, &x, path, sizeof path, &ignored) != KG_OK) {
        return NULL;
    }
    if (x && x->facts(path, &facts, &ignored) == KG_OK && !facts.note) {
        card = kg_findings_find(k->c->config, facts.sha256);
    }
    if (card && !kg_findings_first_look(card) &&
        kg_findings_made_on(card, x->device(k->c->config))) {
        found = json_incref(json_object_get(card, "check"));
        json_object_set_new(found, "problem", kg_json_text(facts.name, strlen(facts.name)));
    }
    if (x) {
        kg_problem_facts_deinit(&facts);
    }
    json_decref(card);
    return found;
}

/* --- all of them --- */

/* What the pool found of it; the caller's. NULL: *err says why; *lacks: no problem of this kind can
 * be checked on this host. */
static json_t *ask(struct checking *k, const char *problem, bool *lacks, struct kg_err *err)
{
    const struct kgym_task task = {.size = sizeof task, .kind = KGYM_CHECK, .problem = problem};
    struct kgym_result *r = NULL;
    struct kgym_error e = {.code = KGYM_OK};
    json_t *found = NULL;
    uint64_t id;
    enum kgym_code code = kgym_submit(k->pool, &task, &id, &e);
    while (code == KGYM_OK && !r && !kg_cli_cancelled) {
        code = kgym_next(k->pool, LOOK_EVERY_MS, &r, &e);
    }
    if (kg_cli_cancelled) {
        kg_fail(err, KG_E_CANCELLED, "interrupted");
    } else if (code != KGYM_OK) {
        (void)!kg_pool_error(&e, err);
    } else if (kg_json_parse(r->record, r->record_len, "check", &found, err) == KG_OK &&
               r->error != KGYM_OK) {
        const json_t *error = json_object_get(found, "error");
        kg_fail(err, (enum kg_code)r->error, "%s", text(error, "message"));
        *lacks = json_is_true(json_object_get(error, "lacks"));
        err->blame = strcmp(text(error, "blame"), "problem") == 0 ? KG_BLAME_PROBLEM
                     : strcmp(text(error, "blame"), "gym") == 0   ? KG_BLAME_GYM
                                                                  : KG_BLAME_HOST;
        json_decref(found);
        found = NULL;
    }
    kgym_result_free(r);
    return found;
}

/* By name where the word does not tell. False: there is no such problem any more. */
static bool kind_of(const struct checking *k, const struct kg_cli_item *it, size_t *row)
{
    const struct kg_executor *x = it->executor;
    struct kg_err ignored = KG_ERR_INIT;
    char path[1200];
    if (!x && kg_executor_find(k->c->paths, it->word, &x, path, sizeof path, &ignored) != KG_OK) {
        return false;
    }
    *row = kg_executor_row(x);
    return true;
}

/* False: the others would fare alike. */
static bool check_one(struct checking *k, const struct kg_cli_item *it)
{
    struct kg_err err = KG_ERR_INIT;
    bool lacks = false;
    json_t *found = k->c->resume ? known_of(k, it) : NULL;
    if (found) {
        tell(k, it, found, true);
        json_decref(found);
        return true;
    }
    size_t row = it->executor ? kg_executor_row(it->executor) : 0;
    if (it->executor && k->lacks[row].code != KG_OK) {
        k->untried[row]++;
        return true;
    }
    found = ask(k, it->path[0] ? it->path : it->word, &lacks, &err);
    if (found) {
        tell(k, it, found, false);
        json_decref(found);
        return true;
    }
    if (lacks && kind_of(k, it, &row)) {
        k->lacks[row] = err;
        k->untried[row]++;
        return true;
    }
    if (!kg_cli_cancelled) {
        tell_error(k, it, &err);
    }
    return err.code != KG_E_USAGE && !kg_cli_cancelled;
}

static void step(struct checking *k)
{
    char note[64];
    k->done++;
    if (k->shows_bar) {
        k->bar.shown_ns = 0;
        snprintf(note, sizeof note, "%lld put aside", (long long)k->aside.n);
        kg_progress_step(&k->bar, k->done, note);
    }
}

/* Where nobody named them, that is no error. */
static void tell_untried(struct checking *k, size_t row)
{
    char before[100];
    if (k->untried[row] > 0) {
        snprintf(before, sizeof before,
                 "kgym problems: %lld %s problem%s not checked: ", (long long)k->untried[row],
                 kg_executors[row]->kind, k->untried[row] == 1 ? " is" : "s are");
        kg_cli_line(stderr, before, k->lacks[row].message);
        worse(k, k->c->nwords > 0 ? KG_STATUS_ERROR : KG_STATUS_GOOD);
    }
}

static void sum_up(struct checking *k, int64_t total)
{
    if (k->shows_bar) {
        kg_progress_end(&k->bar);
    }
    if (kg_cli_cancelled) {
        fprintf(stderr,
                "kgym problems: interrupted, %lld of %lld checked; with --resume the same "
                "command goes on\n",
                (long long)k->of, (long long)total);
        worse(k, KG_STATUS_ERROR);
    }
    for (size_t i = 0; kg_executors[i]; i++) {
        tell_untried(k, i);
    }
    if (!k->c->json && k->of > 1) {
        printf("%lld of %lld problems are fit to judge with", (long long)k->fit, (long long)k->of);
        if (k->untimed > 0) {
            printf(", %lld of them without speed", (long long)k->untimed);
        }
        printf(k->known > 0 ? "; %lld were checked before\n" : "\n", (long long)k->known);
        kg_cli_aside_print(&k->aside);
    }
}

int kg_cli_problems_check(const struct kg_cli_check *c)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_cli_set set;
    struct kg_cli_item it;
    struct checking k = {.c = c};
    const struct kgym_options options = {.workers = 1};
    kg_cli_signals();
    if (kg_cli_set_open(c->paths, c->word, c->nwords, &set, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    if (kg_pool_open(c->config, &options, &k.pool, &err) != KG_OK) {
        kg_cli_set_close(&set);
        return kg_cli_fail("problems", &err);
    }
    kg_buf_init(&k.aside.list, KG_CLI_ASIDE_BYTES);
    k.shows_bar = set.total > 1 && kg_term_tty(stderr);
    kg_progress_init(&k.bar, stderr, "checking", set.total);
    while (!kg_cli_cancelled && kg_cli_set_next(&set, &it) && check_one(&k, &it)) {
        step(&k);
    }
    sum_up(&k, set.total);
    kg_findings_trim(c->config);
    kg_buf_deinit(&k.aside.list);
    kgym_close(k.pool);
    kg_cli_set_close(&set);
    return k.status;
}
