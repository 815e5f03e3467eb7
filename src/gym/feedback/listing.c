/* Listings: lines of which a part is shown, in a fence that they cannot close. */
#include <string.h>

#include "gym/feedback/feedback_parts.h"

#define MOST 24 /* lines of a listing that are shown at most */

/* Which lines, of n, are shown when k are: [from, from + head) and the last tail. */
struct choice {
    size_t from, head, tail;
};

static struct choice choose(const struct kg_fb_listing *l, size_t n, size_t k)
{
    if (l->focus < 0 || k >= n) {
        return (struct choice){0, k - k / 2, k / 2};
    }
    size_t focus = (size_t)l->focus < n ? (size_t)l->focus : n - 1;
    size_t from = focus > k / 2 ? focus - k / 2 : 0;
    return (struct choice){from + k > n ? n - k : from, k, 0};
}

static size_t lines_in(const struct kg_buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++) {
        n += text->data[i] == '\n';
    }
    return n;
}

/* A line of at most KG_FB_LINE bytes, cut between characters. */
static void add_line(const char *s, size_t n, struct kg_buf *out)
{
    size_t keep = n;
    if (n > KG_FB_LINE) {
        keep = KG_FB_LINE - 3;
        while (((unsigned char)s[keep] & 0xC0) == 0x80) {
            keep--;
        }
    }
    kg_buf_add(out, s, keep);
    kg_buf_adds(out, keep < n ? "...\n" : "\n");
}

static void body(const struct kg_fb_listing *l, struct choice c, size_t n, const char *indent,
                 struct kg_buf *out)
{
    const char *s = l->text.data;
    bool gap = l->focus < 0 && c.head + c.tail < n;
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(s, "\n");
        if (gap && i == c.head) {
            size_t left = n - c.head - c.tail;
            kg_buf_addf(out, "%s[%zu line%s left out]\n", indent, left, left == 1 ? "" : "s");
        }
        if ((i >= c.from && i < c.from + c.head) || i >= n - c.tail) {
            kg_buf_adds(out, indent);
            add_line(s, len, out);
        }
        s += len + 1;
    }
}

static void show(const struct kg_fb_listing *l, enum kg_feedback_style style, size_t n, size_t k,
                 struct kg_buf *out)
{
    struct kg_buf lines;
    bool fenced = style == KG_FEEDBACK_MARKDOWN;
    kg_buf_init(&lines, (MOST + 2) * (KG_FB_LINE + 64));
    body(l, choose(l, n, k), n, fenced ? "" : "    ", &lines);
    kg_buf_addf(out, "\n%s\n", l->title);
    if (fenced) {
        kg_fb_fence(lines.data, lines.len, l->tag, out);
    } else {
        kg_buf_add(out, lines.data, lines.len);
    }
    kg_buf_deinit(&lines);
}

void kg_fb_listing_put(const struct kg_fb_listing *l, const struct kg_feedback_spec *spec,
                       size_t room, struct kg_buf *out)
{
    size_t n = lines_in(&l->text);
    struct kg_buf part;
    kg_buf_init(&part, (MOST + 4) * (KG_FB_LINE + 64) + 1024);
    for (size_t k = n < MOST ? n : MOST; k > 0; k--) {
        kg_buf_reset(&part);
        show(l, spec->style, n, k, &part);
        if (kg_fb_count(spec, part.data, part.len) <= room) {
            kg_buf_add(out, part.data, part.len);
            break;
        }
    }
    kg_buf_deinit(&part);
}
