/* Members of KernelGYM's requests: one table of names, types, bounds and defaults, and the
 * coercions that its server makes (docs/trainers.md). Private to kernelgym_request.c and
 * kernelgym_forms.c. */
#ifndef KG_SVC_KERNELGYM_MEMBERS_H
#define KG_SVC_KERNELGYM_MEMBERS_H

#include "svc/kernelgym_request.h"

/* Replaces each known member of *task by its coerced value, and adds those that are missing with
 * their defaults. Unknown members stay and are never read. where: "" or "tasks.3.", for messages.
 * false: *no is filled. */
bool kg_kernelgym_members(json_t *task, const char *where, struct kg_kernelgym_refusal *no);

/* One request from an object, which *out takes over: of /evaluate, of a batch, of a workflow. */
bool kg_kernelgym_request_take(json_t *task, const char *where,
                               const struct kg_kernelgym_settings *s,
                               struct kg_kernelgym_request *out, struct kg_kernelgym_refusal *no);

/* Fills *no and returns false. */
bool kg_kernelgym_refuse(struct kg_kernelgym_refusal *no, bool detail, const char *fmt, ...)
    KG_PRINTF(3, 4);

#endif
