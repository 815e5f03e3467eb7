/* What the service asks of the gym before it accepts a job: the program that serves fills this in,
 * since the service itself knows kgym.h alone. */
#ifndef KG_SVC_GYM_H
#define KG_SVC_GYM_H

#include "base/json.h"
#include "svc/offer.h"

struct kg_svc_gym {
    void *ctx;
    /* May a client ask for this? preset, rewards: NULL is none. set: "key=value" [nset], only
     * options that are marked as a client's. Errors: USAGE. */
    enum kg_code (*settings)(void *ctx, const char *preset, const char *rewards,
                             const char *const *set, size_t nset, struct kg_err *err);
    /* A problem of the suites by its name. device: the class of devices that it needs, a
     * word of offer.h.
     * Errors: NOT_FOUND, with the nearest name. */
    enum kg_code (*problem)(void *ctx, const char *name, char device[KG_SVC_DEVICE_MAX],
                            struct kg_err *err);
    /* The first message for a problem (docs/prompts.md). language: of the answer to a PyTorch
     * problem; NULL: the default. Errors: NOT_FOUND, USAGE (language), others. */
    enum kg_code (*prompt)(void *ctx, const char *name, const char *language, struct kg_buf *out,
                           struct kg_err *err);
    /* Adds {"problem", "suite", "language", "level", "desc"} of each to list. */
    enum kg_code (*problems)(void *ctx, json_t *list, struct kg_err *err);
    /* Files and folders that the calls above read, NULL-terminated. */
    const char *const *reads;
};

#endif
