/* Private to trajectories.c, traj_turns.c and traj_end.c: answers. */
#ifndef KG_SVC_TRAJ_PRIVATE_H
#define KG_SVC_TRAJ_PRIVATE_H

#include "svc/traj_told.h"
#include "svc/trajectories.h"

/* Who is answered, and how. */
struct kg_svc_traj_asker {
    struct kg_svc_api *api;
    kg_svc_traj_answer *answer;
    void *ctx;
};

enum { KG_SVC_TRAJ_TEXT_MAX = 1 << 30 };

/* {code, message, field}; field "": none. */
void kg_svc_traj_refuse(const struct kg_svc_traj_asker *who, int status, const char *code,
                        const char *field, const char *fmt, ...) KG_PRINTF(5, 6);
/* An error of the store, as kg_svc_answer_error(). */
void kg_svc_traj_fail(const struct kg_svc_traj_asker *who, const struct kg_err *err);
/* text is released. */
void kg_svc_traj_give(const struct kg_svc_traj_asker *who, int status, struct kg_buf *text);
/* Answers with what `write` adds of trajectory id. */
void kg_svc_traj_give_told(const struct kg_svc_traj_asker *who, const char *id,
                           void (*write)(const struct kg_svc_told *t, struct kg_buf *out));
/* kg_svc_told_line() with `extra`. */
void kg_svc_traj_write_line(const struct kg_svc_told *t, struct kg_buf *out);
/* Ends it, if it still has so many turns; nobody waits for that. */
void kg_svc_traj_end_soon(struct kg_svc_api *a, const char *id, int64_t turns, const char *how);

/* What a turn of t asks for: the problem and configuration that t was opened with. */
bool kg_svc_traj_job(struct kg_svc_api *a, const json_t *opened, json_t *reply,
                     struct kg_svc_job *job, struct kg_svc_refusal *no);

#endif
