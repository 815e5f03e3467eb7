/* Text on a terminal: colours, and removal of control characters. */
#include "base/term.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool kg_term_tty(FILE *f)
{
    const char *term = getenv("TERM");
    return isatty(fileno(f)) && term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
}

bool kg_term_colour(FILE *f)
{
    const char *no_color = getenv("NO_COLOR"); /* Source: no-color.org: when not empty */
    return kg_term_tty(f) && (no_color == NULL || no_color[0] == '\0');
}

int kg_term_width(FILE *f)
{
    struct winsize size;
    if (ioctl(fileno(f), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return 80;
    }
    return size.ws_col < 40 ? 40 : size.ws_col > 200 ? 200 : size.ws_col;
}

/* Overrides and isolates of the writing direction: they make a line read as what it is not. */
static bool turns_text(uint32_t cp)
{
    return (cp >= 0x202A && cp <= 0x202E) || (cp >= 0x2066 && cp <= 0x2069) || cp == 0x200E ||
           cp == 0x200F || cp == 0x061C;
}

static void add_shown(struct kg_buf *out, const char *s, bool on_one_line)
{
    size_t len = strlen(s);
    for (size_t at = 0; at < len;) {
        uint32_t cp;
        bool ok;
        size_t n = kg_utf8_next(s + at, len - at, &cp, &ok);
        if (ok && on_one_line && cp >= '\t' && cp <= '\r') {
            kg_buf_addc(out, ' ');
        } else if (ok && (cp == '\n' || cp == '\t' || (kg_utf8_in_line(cp) && !turns_text(cp)))) {
            kg_buf_add(out, s + at, n);
        } else {
            kg_buf_adds(out, "\xEF\xBF\xBD");
        }
        at += n;
    }
}

void kg_term_add(struct kg_buf *out, bool colour, enum kg_style style, const char *s)
{
    static const char *const codes[] = {
        [KG_PLAIN] = "",   [KG_BOLD] = "1",    [KG_DIM] = "2",   [KG_RED] = "31",
        [KG_GREEN] = "32", [KG_YELLOW] = "33", [KG_BLUE] = "34", [KG_CYAN] = "36",
    };
    bool styled = colour && style != KG_PLAIN;
    if (styled) {
        kg_buf_addf(out, "\033[%sm", codes[style]);
    }
    add_shown(out, s, false);
    if (styled) {
        kg_buf_adds(out, "\033[0m");
    }
}

void kg_term_add_line(struct kg_buf *out, const char *s)
{
    add_shown(out, s, true);
}
