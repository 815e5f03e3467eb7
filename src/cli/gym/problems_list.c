/* kgym problems list: names, levels and descriptions. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/term.h"
#include "base/utf8.h"
#include "cli/gym/problems.h"
#include "cli/gym/problems_set.h"
#include "gym/eval/executor.h"

#define LIST_INDENT 47

/* Description in what is left of the line, words whole, further lines under the first. */
static void describe(const char *text, int width)
{
    int room = width - LIST_INDENT;
    while (room > 10 && (int)strlen(text) > room) {
        int cut = room;
        while (cut > 0 && text[cut] != ' ') {
            cut--;
        }
        cut = cut > 0 ? cut : room;
        printf("%.*s\n%*s", cut, text, LIST_INDENT, "");
        text += cut + (text[cut] == ' ');
    }
    puts(text);
}

struct row { /* of the list */
    const char *word, *name, *suite, *language, *entry, *desc, *sha256, *note;
    int level;
};

static void print_json(json_t *j)
{
    struct kg_buf b;
    kg_buf_init(&b, 1 << 20);
    kg_json_dump(j, &b);
    puts(b.data);
    kg_buf_deinit(&b);
    json_decref(j);
}

/* Names may be those of files, and rows': text of others. */
static void print_plain(const char *text, int width)
{
    struct kg_buf b;
    kg_buf_init(&b, 8192);
    kg_term_add_line(&b, text);
    printf("%-*s", width, b.data);
    kg_buf_deinit(&b);
}

static void list_one(const struct row *p, bool json)
{
    if (json) {
        print_json(json_pack("{s:o, s:s, s:o, s:i, s:s, s:s, s:s, s:s, s:s?}", "problem",
                             kg_json_text(p->word, strlen(p->word)), "name", p->name, "suite",
                             kg_json_text(p->suite, strlen(p->suite)), "level", p->level,
                             "language", p->language, "entry", p->entry, "desc", p->desc, "sha256",
                             p->sha256, "note", p->note));
        return;
    }
    struct kg_buf text;
    kg_buf_init(&text, 8192);
    kg_term_add_line(&text, p->desc);
    if (p->note) {
        kg_buf_addf(&text, "%s(%s)", text.len ? " " : "", p->note);
    }
    print_plain(p->word, 26);
    printf("  level %d  ", p->level);
    print_plain(p->suite, 8);
    printf("  ");
    describe(text.data, kg_term_tty(stdout) ? kg_term_width(stdout) : 0);
    kg_buf_deinit(&text);
}

static bool is_utf8(const char *text)
{
    bool good = true;
    for (size_t n = strlen(text), at = 0; good && at < n;) {
        uint32_t cp;
        at += kg_utf8_next(text + at, n - at, &cp, &good);
    }
    return good;
}

static enum kg_code list_item(const struct kg_paths *paths, const struct kg_cli_item *it, bool json,
                              struct kg_err *err)
{
    const struct kg_executor *x;
    struct kg_problem_facts f;
    char path[1200], called[400];
    snprintf(path, sizeof path, "%s", it->path);
    x = path[0] ? kg_executor_of_path(path) : NULL;
    if (!x && kg_executor_find(paths, it->word, &x, path, sizeof path, err) != KG_OK) {
        return err->code;
    }
    if (!is_utf8(it->word)) {
        return kg_fail(err, KG_E_INPUT, "%s: its name is not UTF-8, which the gym needs", it->path);
    }
    enum kg_code code = x->facts(path, &f, err);
    if (code == KG_OK) {
        /* The word of a row is its line: its name is told beside. */
        snprintf(called, sizeof called, "%s%s%s", f.name, *f.desc ? ": " : "", f.desc);
        list_one(&(struct row){.word = it->word,
                               .name = f.name,
                               .suite = f.suite,
                               .language = x->language,
                               .entry = f.entry,
                               .desc = f.row && !json ? called : f.desc,
                               .sha256 = f.sha256,
                               .note = f.note,
                               .level = f.level},
                 json);
    }
    kg_problem_facts_deinit(&f);
    return code;
}

void kg_cli_aside_add(struct kg_cli_aside *a, const char *word, const char *reason)
{
    a->n++;
    kg_buf_adds(&a->list, "  ");
    kg_term_add_line(&a->list, word);
    kg_buf_adds(&a->list, ": ");
    kg_term_add_line(&a->list, reason);
    kg_buf_addc(&a->list, '\n');
}

void kg_cli_aside_print(const struct kg_cli_aside *a)
{
    if (a->n > 0) {
        printf("put aside:\n%s%s", a->list.data,
               kg_buf_ok(&a->list) ? "" : "...\n  (more than fit here)\n");
    }
}

/* A file of a folder that turns out to hold no problem is put aside, where its kind can only guess
 * (holds). A problem that was named and is not there is an error. */
int kg_cli_problems_list(const struct kg_paths *paths, const char *const *word, size_t nwords,
                         bool json)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_cli_set set;
    struct kg_cli_item it;
    struct kg_cli_aside aside = {.n = 0};
    int status = KG_STATUS_GOOD;
    if (kg_cli_set_open(paths, word, nwords, &set, &err) != KG_OK) {
        return kg_cli_fail("problems", &err);
    }
    kg_buf_init(&aside.list, KG_CLI_ASIDE_BYTES);
    while (kg_cli_set_next(&set, &it)) {
        if (list_item(paths, &it, json, &err) == KG_OK) {
            continue;
        }
        if (!it.path[0] || !it.executor->holds) {
            status = kg_cli_fail("problems", &err);
        } else if (json) {
            print_json(json_pack("{s:o, s:o}", "problem", kg_json_text(it.word, strlen(it.word)),
                                 "put_aside", kg_json_text(err.message, strlen(err.message))));
        } else {
            kg_cli_aside_add(&aside, it.word, kg_err_without(&err, it.path));
        }
    }
    kg_cli_aside_print(&aside);
    kg_buf_deinit(&aside.list);
    kg_cli_set_close(&set);
    return status;
}
