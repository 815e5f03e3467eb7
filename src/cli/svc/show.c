/* kgym show: the whole life of a job. */
#include <string.h>
#include <time.h>

#include "base/ulid.h"
#include "cli/cli.h"
#include "cli/svc/watch.h"
#include "gym/card/pen.h"

enum { VALUE = 13, UNBOUND = 4096 };

const char *const kg_cli_show_flags[] = {"--url", "--token-file", "--json", "--help", NULL};

static const char help_text[] =
    "usage: kgym show JOB [--url URL] [--token-file F] [--json]\n"
    "\n"
    "The whole life of a job of the service: its state, why it waits, what happened\n"
    "to it and when, and what its record says.\n"
    "\n"
    "  --url URL         the service (default KGYM_URL, else http://127.0.0.1:10907)\n"
    "  --token-file F    a file with the token for it (default: the variables\n"
    "                    KGYM_TOKEN, KGYM_TOKEN_FILE)\n"
    "  --json            one JSON object: the job, its record and its events\n"
    "\n"
    "Example:\n"
    "  kgym show 01JAVR6Q8T3N5Z0E2M4K6W8YBC\n"
    "\n"
    "exit status: 0 shown, 1 there is no such job, 2 error\n";

static void clock_of(double seconds, char day[16], char when[16])
{
    struct tm tm;
    time_t whole = (time_t)seconds;
    if (gmtime_r(&whole, &tm) == NULL) {
        memset(&tm, 0, sizeof tm);
    }
    strftime(day, 16, "%Y-%m-%d", &tm);
    strftime(when, 16, "%H:%M:%S", &tm);
}

static void name(struct kg_pen *p, const char *text)
{
    kg_pen_putf(p, KG_PLAIN, "  %s", text);
    kg_pen_to(p, VALUE);
}

static void line(struct kg_pen *p, const char *label, const char *value)
{
    if (value[0] != '\0') {
        name(p, label);
        kg_pen_wrap(p, KG_PLAIN, VALUE, value);
        kg_pen_line(p);
    }
}

/* What a job that has not ended waits for. */
static void why(struct kg_pen *p, const json_t *job, const json_t *stats)
{
    const char *reason = kg_watch_text(json_object_get(job, "waits_for"), "message");
    const json_t *jobs = json_object_get(stats, "jobs");
    char text[160];
    if (strcmp(kg_watch_text(job, "state"), "waiting") != 0) {
        return;
    }
    if (reason[0] != '\0') {
        line(p, "waits for", reason);
        return;
    }
    snprintf(text, sizeof text, "a free slot: %.0f jobs wait, %.0f run",
             kg_watch_number(jobs, "waiting"), kg_watch_number(jobs, "running"));
    line(p, "waits for", text);
}

static void record(struct kg_pen *p, const json_t *job)
{
    const json_t *r = json_object_get(job, "record"), *stages = json_object_get(r, "stages");
    const json_t *speedup = json_object_get(r, "speedup");
    char text[160];
    if (!json_is_object(r)) {
        return;
    }
    line(p, "verdict", kg_watch_text(r, "verdict"));
    line(p, "reason", kg_watch_text(r, "reason"));
    line(p, "message", kg_watch_text(r, "message"));
    if (json_is_object(speedup)) {
        snprintf(text, sizeof text, "%.3fx", kg_watch_number(speedup, "ratio"));
        line(p, "speed-up", text);
    }
    for (size_t i = 0; i < json_array_size(stages); i++) {
        const json_t *s = json_array_get(stages, i);
        const char *status = kg_watch_text(s, "status");
        if (strcmp(status, "pass") == 0 || strcmp(status, "fail") == 0) {
            name(p, i == 0 ? "stages" : "");
            kg_pen_putf(p, KG_PLAIN, "%-8.20s %s %10.1f ms", kg_watch_text(s, "name"), status,
                        kg_watch_number(s, "ns") / 1e6);
            kg_pen_line(p);
        }
    }
}

static void error(struct kg_pen *p, const json_t *job)
{
    const json_t *e = json_object_get(job, "error");
    char text[400];
    if (json_is_object(e)) {
        snprintf(text, sizeof text, "%.60s (blame %.20s): %.300s", kg_watch_text(e, "code"),
                 kg_watch_text(e, "blame"), kg_watch_text(e, "message"));
        line(p, "error", text);
    }
}

static void life(struct kg_pen *p, const json_t *events)
{
    char day[16], when[16], last[16] = "";
    for (size_t i = 0; i < json_array_size(events); i++) {
        const json_t *e = json_array_get(events, i);
        double at = kg_watch_number(e, "time");
        double first = kg_watch_number(json_array_get(events, 0), "time");
        clock_of(at, day, when);
        if (strcmp(day, last) != 0) {
            line(p, i == 0 ? "life (UTC)" : "", day);
            snprintf(last, sizeof last, "%s", day);
        }
        kg_pen_to(p, VALUE);
        kg_pen_putf(p, KG_PLAIN, "%s %+11.3f s  %-12.20s", when, at - first,
                    kg_watch_text(e, "type"));
        kg_pen_wrap(p, KG_PLAIN, p->column, kg_watch_text(e, "detail"));
        kg_pen_line(p);
    }
}

static void print(const json_t *job, const json_t *events, const json_t *stats)
{
    struct kg_buf out;
    char text[64];
    kg_buf_init(&out, 1 << 20);
    struct kg_pen p = {.out = &out,
                       .colour = kg_term_colour(stdout),
                       .width = kg_term_tty(stdout) ? kg_term_width(stdout) : UNBOUND};
    kg_pen_putf(&p, KG_BOLD, "%s  ", kg_watch_text(job, "id"));
    kg_pen_put(&p, KG_CYAN, kg_watch_text(job, "state"));
    kg_pen_line(&p);
    line(&p, "problem", kg_watch_text(job, "problem"));
    line(&p, "batch", kg_watch_text(job, "batch"));
    line(&p, "key", kg_watch_text(job, "key"));
    line(&p, "priority", kg_watch_text(job, "priority"));
    snprintf(text, sizeof text, "%.0f", kg_watch_number(job, "attempts"));
    line(&p, "attempts", text);
    why(&p, job, stats);
    error(&p, job);
    record(&p, job);
    life(&p, events);
    fputs(out.data, stdout);
    kg_buf_deinit(&out);
}

static enum kg_code show(struct kg_watch *w, const char *id, bool json, struct kg_err *err)
{
    char path[128];
    json_t *job = NULL, *events = NULL, *stats = NULL;
    if (!kg_ulid_is(id)) {
        return kg_fail(err, KG_E_USAGE, "%.60s: is no id of a job: it has 26 digits and capitals",
                       id);
    }
    snprintf(path, sizeof path, "/v1/evaluations/%s", id);
    enum kg_code code = kg_watch_get(w, path, &job, err);
    snprintf(path, sizeof path, "/v1/events?job=%s&limit=1000", id);
    code = code != KG_OK ? code : kg_watch_get(w, path, &events, err);
    code = code != KG_OK ? code : kg_watch_get(w, "/v1/stats", &stats, err);
    json_t *list = json_object_get(events, "events");
    if (code == KG_OK && json) {
        json_object_set(job, "events", list);
        json_dumpf(job, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (code == KG_OK) {
        print(job, list, stats);
    }
    json_decref(job);
    json_decref(events);
    json_decref(stats);
    return code;
}

int kg_cmd_show(int argc, char **argv)
{
    struct kg_watch w = {.url = NULL};
    struct kg_err err = KG_ERR_INIT;
    const char *id = NULL;
    bool json = false;
    for (int i = 1, used = 0; i < argc; i += used) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help_text, stdout);
            return KG_STATUS_GOOD;
        }
        if (kg_watch_word(&w, argc, argv, i, &used, &err) != KG_OK) {
            return kg_cli_fail("show", &err);
        }
        if (used > 0) {
            continue;
        }
        used = 1;
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (argv[i][0] != '-' && id == NULL) {
            id = argv[i];
        } else {
            (void)!kg_cli_unknown("show", argv[i], kg_cli_show_flags, NULL, &err);
            return kg_cli_fail("show", &err);
        }
    }
    if (id == NULL) {
        kg_fail(&err, KG_E_USAGE, "which job? `kgym show JOB`");
        return kg_cli_fail("show", &err);
    }
    enum kg_code code = kg_watch_open(&w, &err);
    code = code != KG_OK ? code : show(&w, id, json, &err);
    if (code == KG_E_NOT_FOUND) {
        kg_cli_fail("show", &err);
        return KG_STATUS_BAD;
    }
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("show", &err);
}
