/* A body whose members are cut out before it is parsed: what the cutter takes is JSON as jansson
 * has it, but for numbers that jansson does not hold; what is left is that body without them. */
#include "fuzz.h"

#include <string.h>

#include "svc/traj_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"extra", "usage"};
    const char *text = (const char *)data;
    struct kg_svc_slice cut[2];
    struct kg_err err = KG_ERR_INIT, ignored = KG_ERR_INIT;
    struct kg_buf rest;
    json_t *whole = NULL, *left = NULL;
    kg_buf_init(&rest, size + 64);
    bool is_object =
        kg_json_parse(text, size, "whole", &whole, &ignored) == KG_OK && json_is_object(whole);
    bool taken = kg_svc_traj_cut(text, size, names, 2, cut, &rest, &err) == KG_OK;
    KG_ASSERT(taken || !is_object); /* it refuses nothing that jansson takes */
    if (is_object) {
        KG_ASSERT(kg_json_parse(rest.data, rest.len, "rest", &left, &ignored) == KG_OK);
        for (int i = 0; i < 2; i++) {
            json_t *member = json_object_get(whole, names[i]), *own;
            KG_ASSERT((member != NULL) == (cut[i].at != NULL));
            if (member != NULL) {
                KG_ASSERT(cut[i].at >= text && cut[i].at + cut[i].len <= text + size);
                own = json_loadb(cut[i].at, cut[i].len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
                KG_ASSERT(json_equal(own, member));
                json_decref(own);
                json_object_set_new(whole, names[i], json_null());
            }
        }
        KG_ASSERT(json_equal(whole, left));
    }
    json_decref(whole);
    json_decref(left);
    kg_buf_deinit(&rest);
    return 0;
}
