/* Published numbers, and what keeps them from being compared with a run's own. */
#include "trial/bench/published.h"

#include <stdio.h>
#include <string.h>

#include "base/term.h"

const double tr_published_p[TR_PUBLISHED_P] = {1, 1.2, 1.5, 2};

static const struct tr_published table[] = {
    {"GPT-5", {{19.5, 16.5, 12.5, 11}, {46.7, 28.6, 13.1, 3}, {21, 12, 4, 2}}},
    {"Claude-4.5-Sonnet", {{15.5, 13.5, 11, 8.5}, {50, 26.7, 9.2, 1.8}, {21, 11, 5, 4}}},
    {"DeepSeek-V3.2-Thinking", {{7.5, 5.5, 4.5, 4}, {11, 6.5, 2.5, .5}, {2, 1, 0, 0}}},
    {"GLM-4.7", {{19.4, 17.2, 13.1, 10.4}, {30, 20.5, 8.5, 3.5}, {5, 2, 2, 2}}},
    {"Qwen3-8B", {{5.8, 4.8, 4.1, 3.4}, {13, 5.6, 2, 1.1}, {5.7, .2, 0, 0}}},
    {"Qwen3-32B", {{6.1, 4.9, 4.3, 4}, {14, 9.4, 2.4, .2}, {3.5, 0, 0, 0}}},
    {"Qwen3-Coder-30B-A3B", {{6, 5.2, 5.1, 3.8}, {12.6, 5, 1.5, .3}, {7, 1, 0, 0}}},
    {"AutoTriton (8B)", {{4.5, 3.6, 2.8, 2.1}, {30.6, 9.2, 2.6, .5}, {7.5, 0, 0, 0}}},
    {"cold start 8B", {{7.5, 6.6, 5, 4.3}, {8.8, 5.6, 1.8, .4}, {.5, 0, 0, 0}}},
    {"Dr. Kernel-8B", {{15.9, 12.8, 10.9, 8.4}, {46, 20, 5, 1.5}, {10.8, 1, 0, 0}}},
    {"Dr. Kernel-14B", {{20.3, 16.9, 13.2, 11.6}, {49.2, 25.6, 7.4, 2.1}, {8.8, 1.2, .2, 0}}},
    {"  14 turns, last", {{24.1, 18.8, 15.3, 12.8}, {59.8, 31.6, 9.6, 3}, {17.1, 3, .2, 0}}},
    {"  14 turns, best", {{39.3, 25.1, 20.4, 17.6}, {80.9, 47.8, 23.6, 12.5}, {29.8, 7.3, .5, 0}}},
};

const struct tr_published *tr_published(size_t *n)
{
    *n = sizeof table / sizeof *table;
    return table;
}

/* The table of a level; where all problems are of one level, that of all. */
static const struct tr_table *level_of(const struct tr_tables *t, int level)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->table[i].level == level) {
            return &t->table[i];
        }
    }
    for (size_t q = 0; q < t->bench->problems && t->n == 1; q++) {
        const struct tr_bench_problem *p = &t->bench->problem[q];
        if (!p->defect) {
            return p->level == level ? &t->table[0] : NULL;
        }
    }
    return NULL;
}

static void add_own(const struct tr_tables *t, const struct tr_table *x, struct kg_buf *out)
{
    static const char *const what[] = {"this run, last turn", "this run, best of turns"};
    size_t last = t->bench->turns - 1;
    for (size_t side = 0; side < (last > 0 ? 2 : 1); side++) {
        const struct tr_view *v = &x->view[side == 0 ? last : x->views - 1];
        kg_buf_addf(out, "  %-26s", what[side]);
        for (size_t j = 0; j < TR_PUBLISHED_P; j++) {
            const struct tr_row *row = tr_tables_row(t, v, TR_M_FAST, tr_published_p[j]);
            kg_buf_addf(out, "%11.1f", 100 * row->x.value);
        }
        kg_buf_addc(out, '\n');
    }
}

static void add_level(const struct tr_tables *t, int level, bool colour, struct kg_buf *out)
{
    static const int problems[TR_PUBLISHED_LEVELS] = {100, 100, 50};
    const struct tr_table *own = t != NULL ? level_of(t, level) : NULL;
    char head[160], what[32];
    if (t != NULL && own == NULL) {
        return;
    }
    snprintf(what, sizeof what, "level %d, %d problems", level, problems[level - 1]);
    snprintf(head, sizeof head, "\n%-28s%11s%11s%11s%11s\n", what, "fast_1", "fast_1.2", "fast_1.5",
             "fast_2");
    kg_term_add(out, colour, KG_BOLD, head);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double *p = table[i].fast[level - 1];
        kg_buf_addf(out, "  %-26s%11.1f%11.1f%11.1f%11.1f\n", table[i].name, p[0], p[1], p[2],
                    p[3]);
    }
    if (own != NULL) {
        add_own(t, own, out);
        if (own->problems != (size_t)problems[level - 1]) {
            kg_buf_addf(out, "  this run: %zu problems, not %d\n", own->problems,
                        problems[level - 1]);
        }
    }
}

static bool is_kernelbench(const struct tr_tables *t)
{
    const json_t *suite = json_object_get(t->bench->run, "suite");
    return json_is_true(json_object_get(suite, "kernelbench"));
}

static void add_conditions(const struct tr_tables *t, bool colour, struct kg_buf *out)
{
    kg_term_add(out, colour, KG_BOLD, "Published numbers: Dr. Kernel, table 1, in per cent\n");
    kg_buf_adds(out,
                "  conditions: KernelBench, eager PyTorch as the reference, one H100,\n"
                "  8 samples, last of 3 turns unless named; no seeds or intervals were given\n");
    if (t == NULL) {
        return;
    }
    const struct tr_bench *b = t->bench;
    if (!is_kernelbench(t)) {
        kg_term_add(out, colour, KG_YELLOW,
                    "  this run has other problems than KernelBench's, so its numbers are not "
                    "shown\n");
        return;
    }
    kg_term_add(out, colour, KG_YELLOW, "  this run differs, or may differ, in:\n");
    kg_buf_adds(out, "  - dataset: problems and sizes changed between KernelBench's versions\n"
                     "  - baseline: what the reference was compiled with, and how it was timed\n"
                     "  - judge: this gym's checks refuse more than theirs\n");
    if (strstr(b->device, "H100") == NULL) {
        kg_buf_adds(out, "  - device: ");
        kg_term_add_line(out, *b->device ? b->device : "not known");
        kg_buf_addc(out, '\n');
    }
    if (b->samples != 8) {
        kg_buf_addf(out, "  - samples: %zu, not 8\n", b->samples);
    }
    if (b->turns != 3) {
        kg_buf_addf(out, "  - turns: %zu, not 3\n", b->turns);
    }
    if (t->partial) {
        kg_buf_adds(out, "  - it is partial\n");
    }
}

void tr_published_text(const struct tr_tables *t, bool colour, struct kg_buf *out)
{
    size_t before;
    add_conditions(t, colour, out);
    t = t != NULL && is_kernelbench(t) ? t : NULL;
    before = out->len;
    for (int level = 1; level <= TR_PUBLISHED_LEVELS; level++) {
        add_level(t, level, colour, out);
    }
    if (out->len == before) {
        kg_buf_adds(out, "  the run has no problem of level 1, 2 or 3\n");
    }
}
