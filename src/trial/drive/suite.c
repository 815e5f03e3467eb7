/* Reads the list of problems: names, levels, numbers. */
#include "trial/drive/suite.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "trial/bench/key.h"
#include "trial/drive/suite_list.h"

enum { MAX_LIST_BYTES = 256 << 20 };

static enum kg_code no_memory(struct kg_err *err)
{
    return kg_fail_memory(err, KG_E_HOST, "no memory for the problems of a suite");
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

const char *tr_suite_number(const char *text, int *out)
{
    char *end = NULL;
    long x = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
    *out = (int)x;
    return x >= 1 && x <= INT_MAX ? end : NULL;
}

/* ".../level2/12_Name.py": KernelBench's own numbers. */
static bool of_kernelbench(const char *path, int *level, int *id)
{
    const char *file = base_of(path), *end = tr_suite_number(file, id);
    size_t n = strlen(file);
    const char *folder = file - 1;
    if (end == NULL || *end != '_' || n < 4 || strcmp(file + n - 3, ".py") != 0 || file == path) {
        return false;
    }
    while (folder > path && folder[-1] != '/') {
        folder--;
    }
    end = strncmp(folder, "level", 5) == 0 ? tr_suite_number(folder + 5, level) : NULL;
    return end != NULL && end == file - 1;
}

/* --- lines of the list --- */

enum kg_code tr_suite_put_aside(struct tr_suite *s, const char *name, const char *why,
                                struct kg_err *err)
{
    struct tr_aside *grown = realloc(s->aside, (s->naside + 1) * sizeof *grown);
    if (grown == NULL) {
        return no_memory(err);
    }
    s->aside = grown;
    struct tr_aside *a = &grown[s->naside++];
    *a = (struct tr_aside){.name = strdup(name), .why = strdup(why)};
    return a->name != NULL && a->why != NULL ? KG_OK : no_memory(err);
}

/* A path is meant from any folder. */
static char *as_task(const char *word)
{
    char path[PATH_MAX];
    struct kg_err ignored = KG_ERR_INIT;
    bool is_path = strchr(word, '/') != NULL || kg_file_exists(word) || strstr(word, ".jsonl#");
    return is_path && kg_file_absolute(word, path, sizeof path, &ignored) == KG_OK ? strdup(path)
                                                                                   : strdup(word);
}

static enum kg_code add(struct tr_suite *s, const json_t *line, struct kg_err *err)
{
    const char *word = json_string_value(json_object_get(line, "problem"));
    const char *name = json_string_value(json_object_get(line, "name"));
    const char *hash = json_string_value(json_object_get(line, "sha256"));
    const char *aside = json_string_value(json_object_get(line, "put_aside"));
    const char *note = json_string_value(json_object_get(line, "note"));
    if (word != NULL && (aside != NULL || note != NULL)) {
        return tr_suite_put_aside(s, word, aside != NULL ? aside : note, err);
    }
    if (word == NULL || name == NULL || hash == NULL || strlen(hash) != KG_SHA256_HEX - 1) {
        return kg_fail(err, KG_E_INPUT, "the list of problems: a line lacks name or hash");
    }
    struct tr_problem *grown = realloc(s->problem, (s->n + 1) * sizeof *grown);
    if (grown == NULL) {
        return no_memory(err);
    }
    s->problem = grown;
    struct tr_problem *p = &grown[s->n++];
    *p = (struct tr_problem){
        .name = strdup(name),
        .problem = as_task(word),
        .level = (int)json_integer_value(json_object_get(line, "level")),
        .id = (int)s->n,
    };
    memcpy(p->hash, hash, sizeof p->hash);
    return p->name != NULL && p->problem != NULL ? KG_OK : no_memory(err);
}

/* suite: lines of another one are left out; NULL: none is. */
static enum kg_code add_lines(struct tr_suite *s, const struct kg_buf *list, const char *suite,
                              struct kg_err *err)
{
    enum kg_code code = KG_OK;
    for (const char *at = list->data, *end; code == KG_OK && (end = strchr(at, '\n')) != NULL;
         at = end + 1) {
        json_t *line = NULL;
        code = kg_json_parse(at, (size_t)(end - at), "the list of problems", &line, err);
        const char *of = json_string_value(json_object_get(line, "suite"));
        if (code == KG_OK && (suite == NULL || (of != NULL && strcmp(of, suite) == 0))) {
            code = add(s, line, err);
        }
        json_decref(line);
    }
    return code;
}

/* --- names and numbers --- */

static int by_number(const void *a, const void *b)
{
    const struct tr_problem *x = a, *y = b;
    return x->level != y->level ? (x->level > y->level) - (x->level < y->level)
                                : (x->id > y->id) - (x->id < y->id);
}

/* All of them or none are KernelBench's, whose result files know a problem by its number alone. */
static void number_as_kernelbench(struct tr_suite *s)
{
    int level, id;
    s->kernelbench = s->n > 0;
    for (size_t i = 0; i < s->n && s->kernelbench; i++) {
        s->kernelbench = of_kernelbench(s->problem[i].problem, &level, &id);
    }
    for (size_t i = 0; i < s->n && s->kernelbench; i++) {
        struct tr_problem *p = &s->problem[i];
        of_kernelbench(p->problem, &p->level, &p->id);
    }
    if (s->kernelbench) {
        qsort(s->problem, s->n, sizeof *s->problem, by_number);
    }
    for (size_t i = 1; i < s->n && s->kernelbench; i++) {
        s->kernelbench = by_number(&s->problem[i - 1], &s->problem[i]) != 0;
    }
    for (size_t i = 0; i < s->n && !s->kernelbench; i++) {
        s->problem[i].id = (int)i + 1;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct tr_problem *const *x = a, *const *y = b;
    return strcmp((*x)->name, (*y)->name);
}

/* Sorted by name, malloc'ed. */
static struct tr_problem **sorted(struct tr_suite *s)
{
    struct tr_problem **list = malloc((s->n + 1) * sizeof *list);
    for (size_t i = 0; list != NULL && i < s->n; i++) {
        list[i] = &s->problem[i];
    }
    if (list != NULL) {
        qsort(list, s->n, sizeof(struct tr_problem *), by_name);
    }
    return list;
}

/* Rows of one name get their line, "Net#12". */
static bool name_row(struct tr_problem *p)
{
    const char *line = strstr(base_of(p->problem), ".jsonl#");
    if (line == NULL) {
        return true;
    }
    struct kg_buf name;
    kg_buf_init(&name, 4096);
    kg_buf_addf(&name, "%s%s", p->name, line + 6);
    free(p->name);
    p->name = kg_buf_detach(&name);
    return p->name != NULL;
}

/* Rows that share a name get their lines; list is sorted. False: memory. */
static bool tell_rows_apart(struct tr_problem **list, size_t n)
{
    for (size_t i = 0, to; i < n; i = to) {
        for (to = i + 1; to < n && strcmp(list[to]->name, list[i]->name) == 0; to++) {
        }
        for (size_t k = i; to - i > 1 && k < to; k++) {
            if (!name_row(list[k])) {
                return false;
            }
        }
    }
    return true;
}

static enum kg_code check_names(struct tr_suite *s, struct kg_err *err)
{
    struct tr_problem **list = sorted(s);
    if (list == NULL || !tell_rows_apart(list, s->n)) {
        free(list);
        return no_memory(err);
    }
    qsort(list, s->n, sizeof(struct tr_problem *), by_name);
    enum kg_code code = KG_OK;
    for (size_t i = 0; code == KG_OK && i < s->n; i++) {
        if (strlen(list[i]->name) > TR_NAME_BYTES) {
            code = kg_fail(err, KG_E_INPUT, "problem `%.40s...`: its name has more than %d bytes",
                           list[i]->name, TR_NAME_BYTES);
        } else if (i > 0 && strcmp(list[i - 1]->name, list[i]->name) == 0) {
            code = kg_fail(err, KG_E_INPUT, "two problems are called `%s`: %.150s and %.150s",
                           list[i]->name, list[i - 1]->problem, list[i]->problem);
        }
    }
    free(list);
    return code;
}

/* --- opening --- */

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* ".../KernelBench:2" to its folder level2. False: it is no such word. */
static bool level_folder(const char *what, char *out, size_t cap)
{
    int level;
    const char *colon = strrchr(what, ':'),
               *end = colon ? tr_suite_number(colon + 1, &level) : NULL;
    if (end == NULL || *end != '\0' || is_folder(what) ||
        (size_t)snprintf(out, cap, "%.*s", (int)(colon - what), what) >= cap || !is_folder(out)) {
        return false;
    }
    return (size_t)snprintf(out, cap, "%.*s/level%d", (int)(colon - what), what, level) < cap;
}

/* "FILE:1: why": the file and the whole message. */
static enum kg_code add_errors(struct tr_suite *s, struct kg_buf *errors, struct kg_err *err)
{
    enum kg_code code = KG_OK;
    char *rest = errors->data;
    for (char *line; code == KG_OK && (line = strsep(&rest, "\n")) != NULL;) {
        char name[200];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(line, ":"), line);
        code = line[0] != '\0' ? tr_suite_put_aside(s, base_of(name), line, err) : KG_OK;
    }
    return code;
}

/* A word without a slash may be the name of a suite. */
static enum kg_code read_suite(struct tr_suite *s, const char *what, struct kg_err *err)
{
    struct kg_buf list, errors;
    kg_buf_init(&list, MAX_LIST_BYTES);
    kg_buf_init(&errors, 1u << 20);
    bool plain = strchr(what, '/') == NULL && strchr(what, '.') == NULL;
    enum kg_code code = plain ? tr_suite_list(NULL, &list, &errors, err) : KG_OK;
    code = code == KG_OK && plain ? add_lines(s, &list, what, err) : code;
    if (code == KG_OK && s->n == 0 && s->naside == 0) {
        kg_buf_reset(&list);
        kg_buf_reset(&errors);
        code = tr_suite_list(what, &list, &errors, err);
        code = code == KG_OK ? add_lines(s, &list, NULL, err) : code;
        code = code == KG_OK ? add_errors(s, &errors, err) : code;
    }
    kg_buf_deinit(&errors);
    kg_buf_deinit(&list);
    return code;
}

static char *title(const char *what)
{
    size_t n = strlen(what);
    while (n > 1 && what[n - 1] == '/') {
        n--;
    }
    size_t from = n;
    while (from > 0 && what[from - 1] != '/') {
        from--;
    }
    return strndup(what + from, n - from);
}

/* The folder of ".../KernelBench:2", and any folder without slashes at its end; else the word. */
static const char *as_listed(const char *what, char *folder, size_t cap)
{
    size_t n = strlen(what);
    if (level_folder(what, folder, cap)) {
        return folder;
    }
    if (n < 2 || what[n - 1] != '/') {
        return what;
    }
    while (n > 1 && what[n - 1] == '/') {
        n--;
    }
    bool plain = memchr(what, '/', n) == NULL; /* such a word would be a name */
    return (size_t)snprintf(folder, cap, "%s%.*s", plain ? "./" : "", (int)n, what) < cap ? folder
                                                                                          : what;
}

enum kg_code tr_suite_open(const char *what, struct tr_suite *out, struct kg_err *err)
{
    char folder[PATH_MAX];
    *out = (struct tr_suite){.name = title(what)};
    const char *word = as_listed(what, folder, sizeof folder);
    enum kg_code code = out->name != NULL ? read_suite(out, word, err) : no_memory(err);
    const char *colon = strrchr(what, ':');
    int level;
    if (code == KG_E_NOT_FOUND && colon != NULL && tr_suite_number(colon + 1, &level) != NULL) {
        code = kg_fail(err, code, "%.200s: there is no folder %.*s/level%d", what,
                       (int)(colon - what < 200 ? colon - what : 200), what, level);
    }
    if (code == KG_OK && out->n == 0) {
        code = kg_fail(err, KG_E_INPUT, "%.200s: no problem there can be judged%s%.200s", what,
                       out->naside > 0 ? ": " : "", out->naside > 0 ? out->aside[0].why : "");
    }
    if (code == KG_OK) {
        number_as_kernelbench(out);
        out->of = out->n;
        code = check_names(out, err);
    }
    if (code != KG_OK) {
        tr_suite_close(out);
    }
    return code;
}

void tr_suite_close(struct tr_suite *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->problem[i].name);
        free(s->problem[i].problem);
    }
    for (size_t i = 0; i < s->naside; i++) {
        free(s->aside[i].name);
        free(s->aside[i].why);
    }
    free(s->problem);
    free(s->aside);
    free(s->name);
    *s = (struct tr_suite){0};
}
