/* What a drive has used up of its budget, and how busy policy and pool were. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "trial/drive/drive_parts.h"

enum { INFO_EVERY_NS = 500000000 }; /* how often the pool is asked how busy it is */

void tr_drive_measure(struct tr_drive *d)
{
    int64_t now = kg_clock_ns();
    struct kgym_info info = {.size = sizeof info};
    struct kgym_error ignored;
    if (now - d->info_ns < INFO_EVERY_NS || kgym_info(d->o.pool, &info, &ignored) != KGYM_OK ||
        info.workers <= 0) {
        return;
    }
    d->info_ns = now;
    d->workers = info.workers;
    d->busy += fmin(1, (double)info.running / info.workers);
    d->samples++;
}

static double money(const struct tr_budget *b, const struct tr_totals *t)
{
    return ((double)t->tokens_in * b->price_in + (double)t->tokens_out * b->price_out) / 1e6;
}

const char *tr_drive_spent(const struct tr_drive *d)
{
    const struct tr_budget *b = &d->o.budget;
    const struct tr_totals t = tr_folder_totals(d->o.folder);
    char *out = ((struct tr_drive *)(uintptr_t)d)->spent;
    size_t cap = sizeof d->spent;
    double seconds = (double)(kg_clock_ns() - d->begun_ns) / 1e9;
    out[0] = '\0';
    if (b->tokens > 0 && t.tokens_in + t.tokens_out >= b->tokens) {
        snprintf(out, cap, "%lld tokens (--max-tokens-total)", (long long)b->tokens);
    } else if (b->money > 0 && money(b, &t) >= b->money) {
        snprintf(out, cap, "%g of money (--max-money)", b->money);
    } else if (b->seconds > 0 && seconds >= b->seconds) {
        snprintf(out, cap, "%g seconds (--max-seconds)", b->seconds);
    }
    return out;
}

struct tr_counts tr_drive_counts(const struct tr_drive *d)
{
    struct tr_counts c = d->counts;
    c.totals = tr_folder_totals(d->o.folder);
    c.money = money(&d->o.budget, &c.totals);
    c.pool_busy = d->samples > 0 ? d->busy / (double)d->samples : 0;
    return c;
}
