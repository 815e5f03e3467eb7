#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "gym/card/card.h"
#include "gym/report/report.h"
#include "gym/reward/reward.h"

/* Whatever is accepted can be written, read again, and shown. */
static void survives(const struct kg_record *r)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_record back;
    json_t *first = kg_record_json(r, false);
    KG_ASSERT(kg_record_parse(first, &back, &err) == KG_OK);
    json_t *second = kg_record_json(&back, false);
    KG_ASSERT(json_equal(first, second));
    kg_record_deinit(&back);
    json_decref(second);

    struct kg_buf out;
    kg_buf_init(&out, 64 << 20);
    struct kg_card_style style = {.colour = true, .width = 80};
    kg_card_render_style(r, &style, &out);
    json_t *list = json_array();
    json_array_append(list, first);
    KG_ASSERT(kg_report_html(list, "fuzz", &out, &err) == KG_OK);
    KG_ASSERT(kg_report_tables(list, false, 80, &out, &err) == KG_OK);
    KG_ASSERT(strlen(out.data) == out.len);
    kg_buf_deinit(&out);
    json_decref(list);
    json_decref(first);
}

static void rewards(const struct kg_record *r)
{
    struct kg_reward_params p;
    struct kg_reward w;
    kg_reward_params_default(&p);
    for (const char *const *n = kg_reward_names(); *n != NULL; n++) {
        kg_reward_compute(r, *n, &p, &w);
        KG_ASSERT(isfinite(w.value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct kg_err err = KG_ERR_INIT;
    struct kg_record r;
    json_t *j;
    if (kg_json_parse((const char *)data, size, "f", &j, &err) != KG_OK) {
        return 0;
    }
    if (kg_record_parse(j, &r, &err) != KG_OK) {
        KG_ASSERT(strncmp(err.message, "record: ", 8) == 0);
    } else {
        survives(&r);
        if (r.verdict != KG_V_NONE) {
            rewards(&r);
        }
        kg_record_deinit(&r);
    }
    json_decref(j);
    return 0;
}
