/* kgym top: a live view of the service. */
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/svc/watch.h"
#include "gym/card/pen.h"

enum { PERIOD_MS = 1000, SLICE_MS = 50, BAR = 24, DEVICES_SHOWN = 12, STATE = 24 };

const char *const kg_cli_top_flags[] = {"--url", "--token-file", "--once", "--help", NULL};

static const char help_text[] =
    "usage: kgym top [--url URL] [--token-file F] [--once]\n"
    "\n"
    "The service as it works: queue, throughput, verdicts, devices. Ctrl-C ends it.\n"
    "Where the output is no terminal, it is printed once.\n"
    "\n"
    "  --url URL         the service (default KGYM_URL, else http://127.0.0.1:10907)\n"
    "  --token-file F    a file with the token for it (default: the variables\n"
    "                    KGYM_TOKEN, KGYM_TOKEN_FILE)\n"
    "  --once            print it once\n"
    "\n"
    "Example:\n"
    "  kgym top --once\n"
    "\n"
    "exit status: 0 shown, 2 error\n";

struct look {
    double done, uptime; /* of the last look; uptime 0: there was none */
};

static void bar(struct kg_buf *out, bool colour, double share)
{
    char text[BAR + 1];
    int n = (int)(share * BAR + 0.5);
    memset(text, ' ', BAR);
    memset(text, '#', (size_t)(n < 0 ? 0 : n > BAR ? BAR : n));
    text[BAR] = '\0';
    kg_buf_addc(out, '[');
    kg_term_add(out, colour, KG_GREEN, text);
    kg_buf_addc(out, ']');
}

static void outcomes(struct kg_buf *out, bool colour, const json_t *counts)
{
    const char *name;
    json_t *n;
    double all = 0;
    json_object_foreach((json_t *)(uintptr_t)counts, name, n)
    {
        all += json_number_value(n);
    }
    if (all <= 0) {
        return;
    }
    kg_term_add(out, colour, KG_BOLD, "verdicts\n");
    json_object_foreach((json_t *)(uintptr_t)counts, name, n)
    {
        char text[32];
        snprintf(text, sizeof text, "%.24s", name);
        kg_buf_addf(out, "  %-16s %10.0f  ", text, json_number_value(n));
        bar(out, colour, json_number_value(n) / all);
        kg_buf_addf(out, " %5.1f %%\n", 100 * json_number_value(n) / all);
    }
}

static void device(struct kg_pen *p, const json_t *d)
{
    const json_t *words = json_object_get(d, "words"), *word;
    size_t i, holds = json_array_size(json_object_get(d, "holds"));
    kg_pen_putf(p, KG_PLAIN, "  %s ", kg_watch_text(d, "name"));
    kg_pen_to(p, STATE);
    kg_pen_putf(p, KG_PLAIN, "%-8s %zu of %.0f slots ", kg_watch_text(d, "state"), holds,
                kg_watch_number(d, "slots"));
    json_array_foreach(words, i, word)
    {
        kg_pen_putf(p, KG_PLAIN, " %s", json_string_value(word) ? json_string_value(word) : "");
    }
    kg_pen_line(p);
}

static void devices(struct kg_buf *out, bool colour, const struct kg_watch *w)
{
    struct kg_err ignored = KG_ERR_INIT;
    struct kg_pen p = {.out = out, .width = kg_term_width(stdout)};
    json_t *answer = NULL;
    if (kg_watch_get(w, "/v1/devices", &answer, &ignored) != KG_OK) {
        return;
    }
    const json_t *list = json_object_get(answer, "devices");
    size_t n = json_array_size(list);
    kg_term_add(out, colour, KG_BOLD, "devices\n");
    for (size_t i = 0; i < n && i < DEVICES_SHOWN; i++) {
        device(&p, json_array_get(list, i));
    }
    if (n == 0) {
        kg_buf_adds(out, "  none: jobs wait until a worker joins\n");
    } else if (n > DEVICES_SHOWN) {
        kg_buf_addf(out, "  and %zu more\n", n - DEVICES_SHOWN);
    }
    json_decref(answer);
}

static void draw(struct kg_buf *out, const struct kg_watch *w, const json_t *stats,
                 struct look *last)
{
    const json_t *jobs = json_object_get(stats, "jobs");
    bool colour = kg_term_colour(stdout);
    double done = kg_watch_number(jobs, "done"), uptime = kg_watch_number(stats, "uptime_s");
    double seconds = uptime - last->uptime;
    kg_term_add(out, colour, KG_BOLD, "kgym");
    kg_buf_addf(out, "  http://%s:%d  store %s  up %.0f s\n", w->target.host, w->target.port,
                kg_watch_text(stats, "store"), uptime);
    kg_term_add(out, colour, KG_BOLD, "queue\n");
    kg_buf_addf(out, "  waiting %.0f in %.0f lanes, the oldest for %.1f s\n",
                kg_watch_number(jobs, "waiting"), kg_watch_number(stats, "lanes"),
                kg_watch_number(stats, "oldest_waiting_s"));
    kg_buf_addf(out, "  running %.0f, done %.0f, cancelled %.0f, dead %.0f\n",
                kg_watch_number(jobs, "running"), done, kg_watch_number(jobs, "cancelled"),
                kg_watch_number(jobs, "dead"));
    kg_buf_addf(out, "  claims that ran out %.0f, answers refused %.0f\n",
                kg_watch_number(stats, "claims_expired"),
                kg_watch_number(stats, "answers_refused"));
    if (last->uptime > 0 && seconds > 0 && done >= last->done) {
        kg_buf_addf(out, "  %.1f evaluations/s\n", (done - last->done) / seconds);
    }
    outcomes(out, colour, json_object_get(stats, "outcomes"));
    devices(out, colour, w);
    *last = (struct look){done, uptime};
}

static void pause_a_second(void)
{
    for (int ms = 0; ms < PERIOD_MS && !kg_cli_cancelled; ms += SLICE_MS) {
        usleep(SLICE_MS * 1000);
    }
}

/* A service that is away for a while ends no live view. */
static enum kg_code watch(struct kg_watch *w, bool once, struct kg_err *err)
{
    struct look last = {0, 0};
    struct kg_buf out;
    enum kg_code code = KG_OK;
    bool seen = false;
    kg_buf_init(&out, 1 << 20);
    do {
        json_t *stats = NULL;
        kg_buf_reset(&out);
        code = kg_watch_get(w, "/v1/stats", &stats, err);
        if (code == KG_OK) {
            draw(&out, w, stats, &last);
            seen = true;
        } else if (code == KG_E_IO && seen && !once) {
            kg_term_add_line(&out, err->message);
            kg_buf_adds(&out, "\nasking again\n");
            *err = (struct kg_err)KG_ERR_INIT;
            last.uptime = 0;
            code = KG_OK;
        }
        if (code == KG_OK) {
            fputs(once ? "" : "\033[H\033[2J", stdout);
            fputs(out.data, stdout);
            fflush(stdout);
        }
        json_decref(stats);
        if (!once && code == KG_OK) {
            pause_a_second();
        }
    } while (!once && code == KG_OK && !kg_cli_cancelled);
    kg_buf_deinit(&out);
    return code;
}

int kg_cmd_top(int argc, char **argv)
{
    struct kg_watch w = {.url = NULL};
    struct kg_err err = KG_ERR_INIT;
    bool once = !kg_term_tty(stdout);
    for (int i = 1, used = 0; i < argc; i += used) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help_text, stdout);
            return KG_STATUS_GOOD;
        }
        if (kg_watch_word(&w, argc, argv, i, &used, &err) != KG_OK) {
            return kg_cli_fail("top", &err);
        }
        if (used == 0 && strcmp(argv[i], "--once") == 0) {
            once = true;
            used = 1;
        } else if (used == 0) {
            (void)!kg_cli_unknown("top", argv[i], kg_cli_top_flags, NULL, &err);
            return kg_cli_fail("top", &err);
        }
    }
    kg_cli_signals();
    enum kg_code code = kg_watch_open(&w, &err);
    code = code != KG_OK ? code : watch(&w, once, &err);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("top", &err);
}
