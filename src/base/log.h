/* Diagnostics of long-lived processes on standard error: "LEVEL role: message". Level from
 * KGYM_LOG (error, warn, info, debug; default warn). An error that is returned is not logged. */
#ifndef KG_BASE_LOG_H
#define KG_BASE_LOG_H

#include "base/err.h"

enum kg_log_level { KG_LOG_ERROR, KG_LOG_WARN, KG_LOG_INFO, KG_LOG_DEBUG };
void kg_log_role(const char *role); /* static string, shown in each line */
void kg_log(enum kg_log_level level, const char *fmt, ...) KG_PRINTF(2, 3);

#endif
