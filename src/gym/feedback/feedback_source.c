/* The candidate's own source around a line. */
#include <stdio.h>
#include <string.h>

#include "gym/feedback/feedback_parts.h"

#define AROUND 3 /* lines before and after */

static const char *tag_of(const struct kg_record *r)
{
    static const char *const known[] = {"c", "cpp", "cuda", "python", "triton"};
    static const char *const tags[] = {"c", "cpp", "cpp", "python", "python"};
    for (size_t i = 0; r->candidate.language != NULL && i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(r->candidate.language, known[i]) == 0) {
            return tags[i];
        }
    }
    return "";
}

void kg_fb_source(struct kg_fb_page *p, const struct kg_record *r, int line)
{
    struct kg_fb_listing *l = &p->source;
    int number = 1, from = line > AROUND ? line - AROUND : 1;
    if (line <= 0 || r->candidate.code == NULL) {
        return;
    }
    for (const char *s = r->candidate.code; *s != '\0' && number <= line + AROUND; number++) {
        size_t n = strcspn(s, "\n");
        if (number >= from) {
            struct kg_buf one;
            kg_buf_init(&one, 8 * KG_FB_LINE);
            kg_fb_clean(s, n < KG_FB_LINE ? n : KG_FB_LINE + 1, &one);
            for (char *c = one.data; *c != '\0'; c++) {
                *c = *c == '\n' ? ' ' : *c; /* a carriage return of the source */
            }
            kg_buf_addf(&l->text, "%c%4d | %s\n", number == line ? '>' : ' ', number, one.data);
            kg_buf_deinit(&one);
        }
        s += n + (s[n] == '\n');
    }
    l->focus = line - from;
    l->tag = tag_of(r);
    snprintf(l->heading, sizeof l->heading, "The source around line %d:", line);
    l->title = l->heading;
}
