/* Every hack with its evidence. */
#include "gym/report/report_parts.h"

void kg_report_hacks(const struct kg_tally *t, struct kg_buf *out)
{
    if (t->verdicts[KG_V_HACK] == 0) {
        return;
    }
    kg_buf_adds(out,
                "<section id=\"hacks\"><h2>Evidence of hacks</h2><p>What the trusted side saw. "
                "An attempt without effect is no hack.</p>\n");
    for (size_t i = 0; i < t->n; i++) {
        const struct kg_record *r = &t->r[i];
        if (r->verdict != KG_V_HACK) {
            continue;
        }
        kg_buf_adds(out, "<article><h3 class=\"who\">");
        kg_report_name(r, out);
        kg_buf_addc(out, ' ');
        kg_report_chip(r, (long)i, out);
        kg_buf_adds(out, "</h3>\n<p class=\"wrap\">");
        kg_html_cut(out, r->message, 2000);
        kg_buf_adds(out, "</p>\n");
        kg_report_evidence(r, out);
        kg_buf_adds(out, "</article>\n");
    }
    kg_buf_adds(out, "</section>\n");
}
