/* Numbers that others have published, to stand beside one's own. They hold under their own
 * conditions only, which are part of them. */
#ifndef KG_TRIAL_BENCH_PUBLISHED_H
#define KG_TRIAL_BENCH_PUBLISHED_H

#include "base/buf.h"
#include "trial/bench/tables.h"

enum { TR_PUBLISHED_LEVELS = 3, TR_PUBLISHED_P = 4 };

/* Source: Dr. Kernel, table 1: KernelBench levels 1, 2 and 3 (100, 100 and 50 problems), eager
 * PyTorch on an H100, 8 samples, last of 3 turns unless the name says otherwise. Per cent. */
struct tr_published {
    const char *name;
    double fast[TR_PUBLISHED_LEVELS][TR_PUBLISHED_P]; /* at p = 1, 1.2, 1.5, 2 */
};
extern const double tr_published_p[TR_PUBLISHED_P];
const struct tr_published *tr_published(size_t *n);

/* The published table of the levels that the run has (all of them: t NULL), with the run's own
 * numbers, and which conditions differ. Of a run over other problems than KernelBench's no number
 * is shown. At most 80 columns. */
void tr_published_text(const struct tr_tables *t, bool colour, struct kg_buf *out);

#endif
