/* The files of a run of `kgym bench`, one after the other in any form: no line is taken for a turn
 * that the run does not have, and tables can be made of whatever was read. The first byte says
 * which file it is. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "trial/bench/tables.h"
#include "trial/bench/turns_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tr_turns_take *const take[] = {tr_turns_reply, tr_turns_record, tr_turns_trajectory,
                                          tr_turns_full};
    static char *const names[] = {"a", "b/c"};
    static size_t by_name[] = {0, 1};
    struct tr_bench_problem problem[2] = {{.name = names[0], .level = 1},
                                          {.name = names[1], .level = 2}};
    struct tr_bench_turn turn[8] = {{.cut = false}};
    unsigned char ended[4] = {TR_BENCH_OPEN};
    static char folder[] = "run";
    struct tr_bench b = {.folder = folder,
                         .suite = "fuzz",
                         .subset = "",
                         .of = 2,
                         .problems = 2,
                         .samples = 2,
                         .turns = 2,
                         .problem = problem,
                         .by_name = by_name,
                         .turn = turn,
                         .ended = ended};
    struct tr_turns_reader r = {.b = &b, .file = "lines.jsonl"};
    const struct tr_tables_options o = {.resamples = 10};
    struct tr_tables t;
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf text;
    if (size < 2) {
        return 0;
    }
    FILE *f = fmemopen((void *)(uintptr_t)(data + 1), size - 1, "r");
    KG_ASSERT(f != NULL);
    KG_ASSERT(tr_turns_stream(&r, f, take[data[0] % 4], &err) == KG_OK);
    fclose(f);
    KG_ASSERT(tr_tables_make(&b, &o, &t, &err) == KG_OK);
    KG_ASSERT(t.counts.judged <= t.counts.replied && t.counts.correct <= t.counts.judged);
    KG_ASSERT(t.tokens_in >= 0 && t.tokens_out >= 0);
    kg_buf_init(&text, 1 << 20);
    tr_tables_text(&t, false, &text);
    KG_ASSERT(kg_buf_ok(&text) && strchr(text.data, '\033') == NULL);
    json_t *j = tr_tables_json(&t);
    KG_ASSERT(j != NULL);
    json_decref(j);
    kg_buf_deinit(&text);
    tr_tables_deinit(&t);
    for (int i = 0; i < TR_BENCH_NOTES; i++) {
        free(b.note[i]);
    }
    return 0;
}
