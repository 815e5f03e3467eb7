/* Pieces of a page: its head, tiles, notes, framed text, verdicts. */
#include "rl/page/page.h"

#include <math.h>
#include <string.h>

#define TEXT_MOST 20000

void rl_page_open(const char *title, const char *style, const char *script, struct kg_buf *out)
{
    kg_buf_adds(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                     "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                     "style-src 'unsafe-inline'; ");
    if (script != NULL) {
        kg_buf_adds(out, "script-src 'sha256-");
        kg_html_sha256(out, script);
        kg_buf_adds(out, "'; ");
    }
    kg_buf_adds(out, "base-uri 'none'; form-action 'none'\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                     "<title>");
    kg_html_text(out, title);
    kg_buf_adds(out, "</title>\n<style>");
    kg_buf_adds(out, rl_page_style);
    kg_buf_adds(out, style);
    kg_buf_adds(out, "</style>\n</head>\n<body>\n<main>\n<header><h1>");
    kg_html_text(out, title);
    kg_buf_adds(out, "</h1>");
}

void rl_page_end(const char *script, struct kg_buf *out)
{
    kg_buf_adds(out, "</main>\n");
    if (script != NULL) {
        kg_buf_addf(out, "<script>%s</script>\n", script);
    }
    kg_buf_adds(out, "</body>\n</html>\n");
}

void rl_page_number(double x, int digits, bool sign, struct kg_buf *out)
{
    if (isfinite(x)) {
        kg_buf_addf(out, sign ? "%+.*f" : "%.*f", digits, x);
    } else {
        kg_buf_adds(out, "–");
    }
}

void rl_page_tile(const char *class, const char *number, const char *name, const char *note,
                  struct kg_buf *out)
{
    kg_buf_addf(out, "<div class=\"tile\"><span>%s</span><b class=\"%s\">", name, class);
    kg_html_text(out, number);
    kg_buf_adds(out, "</b><i>");
    kg_html_text(out, note);
    kg_buf_adds(out, "</i></div>\n");
}

void rl_page_notes(const struct rl_notes *notes, struct kg_buf *out)
{
    if (notes->n == 0) {
        return;
    }
    kg_buf_adds(out, "<div class=\"alert\"><b>Notes</b><ul>");
    for (int i = 0; i < notes->n; i++) {
        kg_buf_adds(out, "<li>");
        kg_html_text(out, notes->text[i]);
        kg_buf_adds(out, "</li>");
    }
    if (notes->more > 0) {
        kg_buf_addf(out, "<li>%d more</li>", notes->more);
    }
    kg_buf_adds(out, "</ul></div>\n");
}

void rl_page_text(const char *s, struct kg_buf *out)
{
    kg_buf_adds(out, "<pre>");
    kg_html_cut(out, s, TEXT_MOST);
    kg_buf_adds(out, "</pre>\n");
}

/* Only known verdicts get a class: the text is the file's. */
void rl_page_chip(const char *verdict, const char *reason, double speedup, struct kg_buf *out)
{
    static const char *const known[] = {"ok",       "wrong",         "crash",
                                        "timeout",  "no_code",       "out_of_memory",
                                        "rejected", "compile_error", "hack"};
    const char *class = "none";
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        class = strcmp(verdict, known[i]) == 0 ? known[i] : class;
    }
    kg_buf_addf(out, "<span class=\"chip v-%s\">", class);
    kg_html_cut(out, verdict[0] ? verdict : "no verdict", 30);
    kg_buf_adds(out, reason[0] ? " · " : "");
    kg_html_cut(out, reason, 40);
    if (isfinite(speedup) && strcmp(class, "ok") == 0) {
        kg_buf_addf(out, " · %.2fx", speedup);
    }
    kg_buf_adds(out, "</span> ");
}
