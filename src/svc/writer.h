/* The thread that owns a store's writes, and its group commit. Whoever has something to write posts
 * an operation; the thread takes all that are there, runs them between one begin() and one
 * commit(), and only then are they done. So the sync of one group serves many.
 *
 * run() is called in the thread, done() in the loop of event_base, both in order of their posts. An
 * operation may be run again (after a group that failed each runs alone), so run() begins anew each
 * time. The operation belongs to whoever posts it, until done() is called. */
#ifndef KG_SVC_WRITER_H
#define KG_SVC_WRITER_H

#include "svc/segment.h"
#include "svc/store.h"

struct event_base;
struct kg_svc_writer;

struct kg_svc_op {
    /* KG_E_NOT_FOUND, USAGE and FULL are answers: the group goes on. NULL: nothing is changed, and
     * `done` tells whether a group goes through. */
    enum kg_code (*run)(struct kg_svc_op *op, struct kg_svc_store *store,
                        struct kg_svc_segments *segments, struct kg_err *err);
    void (*done)(struct kg_svc_op *op);
    bool writes;       /* it changes something in any case, so its success shows that others may */
    struct kg_err err; /* of the last run, or of the commit */
    struct kg_svc_op *next;
};

/* after: called in the loop after each group, once its operations are done. NULL: nothing.
 * Errors: HOST. */
enum kg_code kg_svc_writer_open(struct event_base *base, struct kg_svc_store *store,
                                struct kg_svc_segments *segments, void (*after)(void *ctx),
                                void *ctx, struct kg_svc_writer **out,
                                struct kg_err *err) KG_MUST_USE;
/* What was posted is done first. NULL is nothing. */
void kg_svc_writer_close(struct kg_svc_writer *w);
/* Could the store not do something, and has nothing that `writes` gone through since? Of the loop.
 */
bool kg_svc_writer_has_failed(const struct kg_svc_writer *w);
void kg_svc_writer_post(struct kg_svc_writer *w, struct kg_svc_op *op);

#endif
