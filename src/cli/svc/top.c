/* kgym top: a live view of the service. */
#include <string.h>
#include <unistd.h>

#include "base/term.h"
#include "cli/cli.h"
#include "cli/svc/watch.h"

enum { PERIOD_MS = 1000, SLICE_MS = 50, BAR = 24, DEVICES_SHOWN = 12 };

const char *const kg_cli_top_flags[] = {"--url", "--token-file", "--once", "--help", NULL};

static const char help_text[] =
    "usage: kgym top [--url URL] [--token-file F] [--once]\n"
    "\n"
    "The service as it works: queue, throughput, verdicts, workers. Ctrl-C ends it.\n"
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

/* A service without that route lists none. */
static void workers(struct kg_buf *out, bool colour, const struct kg_watch *w)
{
    static const char *const shown[] = {"worker", "name", "device", "host", "state", "backend"};
    struct kg_err ignored = KG_ERR_INIT;
    json_t *answer = NULL;
    if (kg_watch_get(w, "/v1/devices", &answer, &ignored) != KG_OK) {
        return;
    }
    const json_t *list = json_object_get(answer, "devices");
    list = list != NULL ? list : json_object_get(answer, "workers");
    if (json_array_size(list) > 0) {
        kg_term_add(out, colour, KG_BOLD, "devices\n");
    }
    for (size_t i = 0; i < json_array_size(list) && i < DEVICES_SHOWN; i++) {
        const json_t *d = json_array_get(list, i);
        kg_buf_addc(out, ' ');
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
            const char *t = kg_watch_text(d, shown[k]);
            if (t[0] != '\0') {
                kg_buf_addc(out, ' ');
                kg_term_add_line(out, t);
            }
        }
        kg_buf_addc(out, '\n');
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
    workers(out, colour, w);
    *last = (struct look){done, uptime};
}

static void pause_a_second(void)
{
    for (int ms = 0; ms < PERIOD_MS && !kg_cli_cancelled; ms += SLICE_MS) {
        usleep(SLICE_MS * 1000);
    }
}

static enum kg_code watch(struct kg_watch *w, bool once, struct kg_err *err)
{
    struct look last = {0, 0};
    struct kg_buf out;
    enum kg_code code = KG_OK;
    kg_buf_init(&out, 1 << 20);
    do {
        json_t *stats = NULL;
        code = kg_watch_get(w, "/v1/stats", &stats, err);
        if (code == KG_OK) {
            kg_buf_reset(&out);
            draw(&out, w, stats, &last);
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
