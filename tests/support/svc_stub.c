#include "tests/support/svc_stub.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/svc_rig.h"

json_t *svc_stub_claim(const char *device)
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"worker\": \"stub\", \"devices\": [\"%s\"], \"slots\": [{\"lane\": \"\", "
             "\"held_ms\": 0}], \"wait_s\": 20}",
             device);
    json_t *j = svc_json(200, "POST", "/v1/worker/claim", body);
    json_t *one = json_incref(json_array_get(json_object_get(j, "claims"), 0));
    json_decref(j);
    assert_non_null(one);
    return one;
}

static void answer(json_t *claimed, json_t *more, int status)
{
    static const char *const same[] = {"id", "claim", "fence"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        json_object_set(more, same[i], json_object_get(claimed, same[i]));
    }
    char *body = json_dumps(more, 0);
    json_decref(svc_json(status, "POST", "/v1/worker/finish", body));
    free(body);
    json_decref(more);
    json_decref(claimed);
}

void svc_stub_finish(json_t *claimed, const char *record, const char *verdict, int status)
{
    answer(
        claimed,
        json_pack("{s:s, s:s, s:s}", "outcome", "finished", "record", record, "verdict", verdict),
        status);
}

void svc_stub_fail(json_t *claimed)
{
    answer(claimed,
           json_pack("{s:s, s:s, s:s, s:s}", "outcome", "failed", "error", "host", "blame", "host",
                     "message", "m"),
           200);
}
