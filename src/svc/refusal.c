#include "svc/refusal.h"

#include <stdarg.h>
#include <stdio.h>

bool kg_svc_refuse(struct kg_svc_refusal *no, int status, const char *code, const char *field,
                   const char *fmt, ...)
{
    va_list ap;
    no->status = status;
    no->code = code;
    snprintf(no->field, sizeof no->field, "%s", field);
    va_start(ap, fmt);
    vsnprintf(no->message, sizeof no->message, fmt, ap);
    va_end(ap);
    return false;
}
