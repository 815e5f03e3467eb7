/* Which rows the next step computes: one row of every conversation that draws, then parts of
 * prompts, the oldest first. */
#include <string.h>

#include "lm/infer/internal.h"

void lm_schedule_evict(struct lm_engine *e, struct lm_conversation *c)
{
    for (int i = 0; i < c->n_pages; i++) {
        lm_pages_drop(&e->pages, c->pages[i]);
    }
    c->n_pages = c->done = 0;
}

/* The whole pages of the group's first become its own too; its last page is copied if there is a
 * free one, else computed again. */
static void fork_from(struct lm_engine *e, struct lm_conversation *to,
                      const struct lm_conversation *from)
{
    int whole = from->done / LM_PAGE, rest = from->done % LM_PAGE;
    for (int i = 0; i < whole; i++) {
        lm_pages_share(&e->pages, from->pages[i]);
        to->pages[i] = from->pages[i];
    }
    to->n_pages = whole;
    to->done = whole * LM_PAGE;
    int32_t page = rest > 0 ? lm_pages_take(&e->pages) : -1;
    if (page >= 0) {
        size_t stride = (size_t)e->run.kv.stride;
        memcpy(e->run.kv.pool + (size_t)page * stride,
               e->run.kv.pool + (size_t)from->pages[whole] * stride, stride * sizeof(lm_real));
        to->pages[to->n_pages++] = page;
        to->done = from->done;
    }
    to->phase = LM_RUNS;
}

static void fork_groups(struct lm_engine *e)
{
    for (int i = 0; i < e->n_order; i++) {
        struct lm_conversation *c = &e->c[e->order[i]];
        if (c->phase != LM_WAITS || e->c[c->leader].done < c->n - 1) {
            continue;
        }
        fork_from(e, c, &e->c[c->leader]);
        e->c[c->leader].waiting--;
    }
}

/* Takes the pages of another conversation: of one that rests, else of the youngest that is not in
 * the batch. False: there is none. */
static bool make_room(struct lm_engine *e, const struct lm_conversation *for_whom)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = e->n_order - 1; i >= 0; i--) {
            struct lm_conversation *c = &e->c[e->order[i]];
            bool may = pass == 0 ? c->phase == LM_RESTS : c->phase == LM_RUNS && !c->scheduled;
            if (may && c != for_whom && c->n_pages > 0) {
                lm_schedule_evict(e, c);
                e->stats.evicted++;
                return true;
            }
        }
    }
    return false;
}

/* Pages for tokens 0..tokens-1. */
static bool provide(struct lm_engine *e, struct lm_conversation *c, int tokens, bool press)
{
    while (c->n_pages * LM_PAGE < tokens) {
        int32_t page = lm_pages_take(&e->pages);
        if (page >= 0) {
            c->pages[c->n_pages++] = page;
        } else if (!press || !make_room(e, c)) {
            return false;
        }
    }
    return true;
}

static void put(struct lm_engine *e, int index, int rows)
{
    struct lm_batch *b = &e->batch;
    struct lm_conversation *c = &e->c[index];
    memcpy(e->row_ids + b->n_rows, c->ids + c->done, (size_t)rows * sizeof *c->ids);
    e->seq[b->n_seq] = (struct lm_seq_rows){b->n_rows, rows, c->done, c->pages};
    e->seq_c[b->n_seq++] = index;
    b->n_rows += rows;
    c->scheduled = true;
    if (c->done + rows == c->n) {
        e->want_c[b->n_want] = index;
        e->want[b->n_want++] = b->n_rows - 1;
    }
}

/* draws: those that have one row left; else those with more. */
static void put_all(struct lm_engine *e, bool draws, int max)
{
    for (int i = 0; i < e->n_order; i++) {
        struct lm_conversation *c = &e->c[e->order[i]];
        int end = c->waiting > 0 ? c->n - 1 : c->n, left = end - c->done;
        int room = e->o.max_rows - e->batch.n_rows;
        if (c->phase != LM_RUNS || c->scheduled || left < 1 || room < 1 || (left == 1) != draws) {
            continue;
        }
        int rows = left < room ? left : room;
        if (c->done + rows == c->n && e->batch.n_want == max) {
            continue;
        }
        if (provide(e, c, c->done + rows, draws || e->batch.n_rows == 0)) {
            put(e, e->order[i], rows);
        }
    }
}

void lm_schedule_batch(struct lm_engine *e, int max)
{
    max = max < e->o.max_seqs ? max : e->o.max_seqs;
    e->batch = (struct lm_batch){.ids = e->row_ids, .seq = e->seq, .want = e->want};
    for (int i = 0; i < e->n_order; i++) {
        struct lm_conversation *c = &e->c[e->order[i]];
        c->scheduled = false;
        if (e->version != e->model->version) {
            lm_schedule_evict(e, c);
        }
    }
    e->version = e->model->version;
    fork_groups(e);
    put_all(e, true, max);
    put_all(e, false, max);
}
