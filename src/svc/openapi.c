/* GET /openapi.json: a text that is part of the program. Tests hold the table of routes, and every
 * answer, to it (tests/support/svc_schema.h). */
#include <string.h>

#include "svc/api_private.h"

__asm__(".pushsection .rodata\n"
        ".type kg_svc_openapi, @object\n"
        ".hidden kg_svc_openapi\n"
        ".global kg_svc_openapi\n"
        "kg_svc_openapi:\n"
        ".incbin \"src/svc/openapi.json\"\n"
        ".byte 0\n"
        ".size kg_svc_openapi, . - kg_svc_openapi\n"
        ".popsection\n");

void kg_svc_get_openapi(struct kg_svc_exchange *x, void *ctx)
{
    (void)ctx;
    kg_svc_reply(x, 200, "application/json", kg_svc_openapi, strlen(kg_svc_openapi));
}
