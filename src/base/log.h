/* Diagnostics of long-lived processes on standard error: "LEVEL role: message". Level from
 * KGYM_LOG (error, warn, info, debug; default warn). An error that is returned is not logged. */
#ifndef KG_BASE_LOG_H
#define KG_BASE_LOG_H

#include <stdatomic.h>

#include "base/err.h"

enum kg_log_level { KG_LOG_ERROR, KG_LOG_WARN, KG_LOG_INFO, KG_LOG_DEBUG };
void kg_log_role(const char *role); /* static string, shown in each line */
void kg_log(enum kg_log_level level, const char *fmt, ...) KG_PRINTF(2, 3);

/* What each use would say again: one topic, one bit. */
enum kg_log_topic {
    KG_LOG_NO_OBJECTS = 1,  /* compiled objects are not kept */
    KG_LOG_NO_BUILDS = 2,   /* nor builds of PyTorch candidates */
    KG_LOG_NO_FINDINGS = 4, /* nor what problems check found */
    KG_LOG_NOT_OURS = 8     /* the folder for the cache is another user's */
};
/* The first message of its topic; later ones are not shown. By all threads. */
void kg_log_once(enum kg_log_topic topic, enum kg_log_level level, const char *fmt, ...)
    KG_PRINTF(3, 4);
/* Topics count as shown for all processes that share *told (0 at first), which outlives its use;
 * NULL: for this process alone. The workers of a pool share one for each device, so a message
 * appears once for each device. What this process has shown already counts. */
void kg_log_share(atomic_uint *told);

#endif
