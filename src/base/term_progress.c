/* Progress: a bar with the time left on a terminal, plain lines elsewhere. */
#include "base/clock.h"
#include "base/term.h"

#include <inttypes.h>

#define SECOND_NS      1000000000
#define REDRAW_NS      (SECOND_NS / 10)
#define BAR_COLUMNS    24
#define LINE_MAX_BYTES 1000

void kg_progress_init(struct kg_progress *p, FILE *out, const char *label, int64_t total)
{
    int64_t now = kg_clock_ns();
    *p = (struct kg_progress){.out = out, .label = label, .total = total, .start_ns = now};
    p->tty = kg_term_tty(out);
    /* A terminal shows the first step at once; a log waits a second: short work leaves one line. */
    p->shown_ns = p->tty ? now - REDRAW_NS : now;
}

/* 75 s -> "1:15", 3700 s -> "1:01:40". */
static void add_duration(struct kg_buf *line, double seconds)
{
    int64_t s = seconds < 1e9 ? (int64_t)(seconds + 0.5) : 1000000000;
    if (s >= 3600) {
        kg_buf_addf(line, "%" PRId64 ":%02d:%02d", s / 3600, (int)(s / 60 % 60), (int)(s % 60));
    } else {
        kg_buf_addf(line, "%d:%02d", (int)(s / 60), (int)(s % 60));
    }
}

static double rate_of(const struct kg_progress *p, double elapsed)
{
    return elapsed > 0 && p->done > p->kept ? (double)(p->done - p->kept) / elapsed : 0;
}

static void add_rate(struct kg_buf *line, double rate)
{
    kg_buf_addf(line, rate >= 10 ? "%.0f/s" : "%.2g/s", rate);
}

static void add_bar(struct kg_buf *line, int64_t done, int64_t total)
{
    int full = (int)((double)done / (double)total * BAR_COLUMNS);
    kg_buf_addc(line, '[');
    for (int i = 0; i < BAR_COLUMNS; i++) {
        kg_buf_addc(line, i < full ? '#' : '.');
    }
    kg_buf_adds(line, "] ");
}

static void add_state(const struct kg_progress *p, int64_t now, struct kg_buf *line)
{
    double elapsed = (double)(now - p->start_ns) / SECOND_NS;
    double rate = rate_of(p, elapsed);
    kg_term_add(line, false, KG_PLAIN, p->label);
    kg_buf_adds(line, p->tty ? " " : ": ");
    if (p->total > 0) {
        int64_t shown = p->done < 0 ? 0 : p->done < p->total ? p->done : p->total;
        if (p->tty) {
            add_bar(line, shown, p->total);
        }
        kg_buf_addf(line, "%" PRId64 "/%" PRId64 " %3.0f%%", p->done, p->total,
                    100.0 * (double)shown / (double)p->total);
    } else {
        kg_buf_addf(line, "%" PRId64, p->done);
    }
    if (rate > 0) {
        kg_buf_adds(line, "  ");
        add_rate(line, rate);
        if (p->total > p->done) {
            kg_buf_adds(line, "  ");
            add_duration(line, (double)(p->total - p->done) / rate);
            kg_buf_adds(line, " left");
        }
    }
}

/* Shortens text to so many columns, at a character's edge: a bar that wraps cannot be redrawn. */
static void clip(struct kg_buf *line, size_t columns)
{
    while (line->len > 0 && kg_term_columns(line->data) > columns) {
        do {
            line->len--;
        } while (line->len > 0 && ((unsigned char)line->data[line->len] & 0xC0) == 0x80);
        line->data[line->len] = '\0';
    }
}

void kg_progress_step(struct kg_progress *p, int64_t done, const char *note)
{
    int64_t now = kg_clock_ns();
    p->done = done;
    if (now - p->shown_ns < (p->tty ? REDRAW_NS : SECOND_NS)) {
        return;
    }
    p->shown_ns = now;
    struct kg_buf line;
    kg_buf_init(&line, LINE_MAX_BYTES);
    add_state(p, now, &line);
    if (note != NULL && note[0] != '\0') {
        size_t at = line.len + 2;
        kg_buf_adds(&line, "  ");
        kg_term_add(&line, false, KG_PLAIN, note);
        for (; at < line.len; at++) {
            if (line.data[at] == '\n' || line.data[at] == '\t') {
                line.data[at] = ' ';
            }
        }
    }
    if (p->tty) {
        clip(&line, (size_t)kg_term_width(p->out) - 1);
    }
    fprintf(p->out, p->tty ? "\r\033[K%s" : "%s\n", line.data);
    fflush(p->out);
    kg_buf_deinit(&line);
}

void kg_progress_end(struct kg_progress *p)
{
    double elapsed = (double)(kg_clock_ns() - p->start_ns) / SECOND_NS;
    struct kg_buf line;
    kg_buf_init(&line, LINE_MAX_BYTES);
    kg_term_add(&line, false, KG_PLAIN, p->label);
    kg_buf_addf(&line, ": %" PRId64, p->done);
    if (p->total > 0) {
        kg_buf_addf(&line, "/%" PRId64, p->total);
    }
    kg_buf_addf(&line, " in %.1f s", elapsed);
    double rate = rate_of(p, elapsed);
    if (rate > 0) {
        kg_buf_adds(&line, ", ");
        add_rate(&line, rate);
    }
    fprintf(p->out, "%s%s\n", p->tty ? "\r\033[K" : "", line.data);
    fflush(p->out);
    kg_buf_deinit(&line);
}
