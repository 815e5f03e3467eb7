/* What a right candidate is told of its speed: times, the ratio with its interval, coverage, and
 * the kernels that took most of the device's time. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "gym/card/units.h"
#include "gym/feedback/feedback_parts.h"

#define KERNELS 5
#define NAME    40 /* bytes of a kernel's name */

/* In lines of their own: a small budget keeps the first. */
static void ratio(const struct kg_record *r, struct kg_buf *out)
{
    char text[KG_UNITS_LEN], a[KG_UNITS_LEN], b[KG_UNITS_LEN];
    double lo = r->speedup.lo, hi = r->speedup.hi;
    kg_buf_addf(out, "Speed-up: %s", kg_units_ratio(r->speedup.ratio, text));
    if (isfinite(lo) && isfinite(hi)) {
        kg_buf_addf(out, ", 95 %% interval %s to %s", kg_units_ratio(lo, a), kg_units_ratio(hi, b));
        kg_buf_adds(out, lo <= 1 && hi >= 1 ? ": not distinguishable from 1" : "");
    }
    kg_buf_adds(out, ".\n");
    if (r->timing.reference_ns >= 0 && r->timing.candidate_ns >= 0) {
        kg_buf_addf(out, "Times: reference %s, yours %s.\n",
                    kg_units_time(r->timing.reference_ns, a),
                    kg_units_time(r->timing.candidate_ns, b));
    }
}

/* A name of the candidate's only where it stands in its source: another was made while it ran. */
static void kernel_name(const struct kg_record *r, const json_t *e, bool own, struct kg_buf *out)
{
    struct kg_buf name;
    const char *said = json_string_value(json_object_get(e, "name"));
    const char *s = said != NULL ? said : "";
    kg_buf_init(&name, 4096);
    kg_fb_exception_text(s, r->candidate.code, &name);
    bool stands = kg_fb_identifier(s) && kg_fb_stands_in(r->candidate.code, s, strlen(s));
    bool said_nothing = strspn(name.data, ". ") == name.len;
    if (said_nothing || (own && !stands)) {
        kg_buf_adds(out, own ? "a kernel named at run time" : "a kernel of a library");
    } else {
        kg_buf_add(out, name.data, name.len < NAME ? name.len : NAME);
    }
    kg_buf_deinit(&name);
}

static void add_calls(json_int_t calls, struct kg_buf *out)
{
    if (calls > 0 && calls < 100) {
        kg_buf_addf(out, ", %d call%s", (int)calls, calls == 1 ? "" : "s");
    } else if (calls > 0) {
        kg_buf_adds(out, ", 100 calls or more");
    }
    kg_buf_addc(out, '\n');
}

static void kernels(const struct kg_record *r, struct kg_buf *out)
{
    size_t i, shown = 0;
    json_t *e;
    json_array_foreach(r->evidence, i, e)
    {
        const char *check = json_string_value(json_object_get(e, "check"));
        double share = json_number_value(json_object_get(e, "share"));
        json_int_t calls = json_integer_value(json_object_get(e, "calls"));
        if (check == NULL || strcmp(check, "kernel") != 0 || !(share >= 0 && share <= 1) ||
            shown++ >= KERNELS) {
            continue;
        }
        bool own = json_is_true(json_object_get(e, "own"));
        kg_buf_addf(out, "- %.0f %% %s: ", 100 * share, own ? "yours" : "library");
        kernel_name(r, e, own, out);
        add_calls(calls, out);
    }
}

void kg_fb_speed(struct kg_fb_page *p, const struct kg_record *r)
{
    struct kg_buf *out = &p->speed;
    bool measured = r->timing.status == KG_T_MEASURED && r->has_speedup;
    if (r->verdict != KG_V_OK) {
        return;
    }
    if (measured && isfinite(r->speedup.ratio)) {
        ratio(r, out);
    } else {
        kg_buf_adds(out, r->timing.status == KG_T_NOT_TRUSTED
                             ? "Its speed could not be measured in a way that can be trusted.\n"
                             : "Its speed was not measured.\n");
    }
    if (!isnan(r->coverage)) {
        bool c = r->problem.language && strcmp(r->problem.language, "c") == 0;
        kg_buf_addf(out,
                    c ? "Coverage: %.0f %% of the time is in code of yours, not in the library.\n"
                      : "Coverage: %.0f %% of the device's time is in kernels of yours.\n",
                    100 * r->coverage);
    }
    if (!r->league.eligible) {
        kg_buf_adds(&p->facts, "Not eligible in this league: a framework's compiler wrote the "
                               "kernel.\n");
    }
    kernels(r, &p->kernels);
}
