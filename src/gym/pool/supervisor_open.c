/* From the options of a client to a supervisor that can start workers. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/trace.h"
#include "gym/eval/evaluate.h"
#include "gym/eval/executor.h"
#include "gym/pool/settings.h"
#include "gym/pool/supervisor.h"

#define MAX_WORKERS 4096

extern char **environ;

static enum kg_code configure(struct kg_supervisor *s, const json_t *options, struct kg_err *err)
{
    if (kg_config_load(&s->config, kg_frame_text(options, "preset"),
                       kg_frame_text(options, "config"), environ, err) != KG_OK ||
        kg_settings_apply(json_object_get(options, "settings"), &s->config, err) != KG_OK) {
        return err->code;
    }
    return kg_config_check(&s->config, err);
}

static bool is_one_of(json_int_t core, const int *list, int n)
{
    int i = 0;
    while (i < n && list[i] != core) {
        i++;
    }
    return i < n;
}

static bool is_core(const struct kg_supervisor *s, int cpu)
{
    int i = 0;
    while (i < s->ncores && s->core[i].cpu != cpu) {
        i++;
    }
    return i < s->ncores;
}

static enum kg_code find_cores(struct kg_supervisor *s, const json_t *wanted, struct kg_err *err)
{
    int allowed[CPU_SETSIZE];
    int n = kg_worker_cores(allowed, CPU_SETSIZE);
    size_t i;
    json_t *v;
    s->core = calloc(CPU_SETSIZE, sizeof *s->core);
    if (!s->core || n < 1) {
        return kg_fail(err, KG_E_HOST, "no core to run on");
    }
    for (int k = 0; json_array_size(wanted) == 0 && k < n; k++) {
        s->core[s->ncores++].cpu = allowed[k];
    }
    json_array_foreach((json_t *)(uintptr_t)wanted, i, v)
    {
        json_int_t c = json_integer_value(v);
        if (!is_one_of(c, allowed, n)) {
            return kg_fail(err, KG_E_USAGE, "cores: this process may not use core %lld",
                           (long long)c);
        }
        if (is_core(s, (int)c)) {
            return kg_fail(err, KG_E_USAGE, "cores: core %lld is named twice", (long long)c);
        }
        if (s->ncores == CPU_SETSIZE) {
            return kg_fail(err, KG_E_USAGE, "cores: more than %d", CPU_SETSIZE);
        }
        s->core[s->ncores++].cpu = (int)c;
    }
    return KG_OK;
}

/* Memory for what the workers of a device share. Its size is sealed: a worker that made it smaller
 * would have the others killed by SIGBUS. */
static enum kg_code share_memory(struct kg_supervisor *s, struct kg_err *err)
{
    int n = s->ndevices > 0 ? s->ndevices : 1;
    s->shared = malloc((size_t)n * sizeof *s->shared);
    if (!s->shared) {
        return kg_fail(err, KG_E_LIMIT, "devices: no memory");
    }
    for (int i = 0; i < n; i++) {
        s->shared[i] = -1; /* what is closed on the way out */
    }
    for (int i = 0; i < n; i++) {
        s->shared[i] = memfd_create("kgym-common", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (s->shared[i] < 0 || ftruncate(s->shared[i], sizeof(struct kg_common)) != 0 ||
            fcntl(s->shared[i], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
            return kg_fail(err, KG_E_HOST, "memfd: %s", strerror(errno));
        }
    }
    return KG_OK;
}

static enum kg_code find_devices(struct kg_supervisor *s, const char *list, struct kg_err *err)
{
    char *rest = NULL, *copy = strdup(list ? list : "");
    size_t most = strlen(list ? list : "") + 1;
    bool good = copy != NULL;
    s->device = calloc(most, sizeof(char *));
    good = good && s->device;
    for (char *d = good ? strtok_r(copy, ", ", &rest) : NULL; good && d;
         d = strtok_r(NULL, ", ", &rest)) {
        char *name = strdup(d);
        good = name != NULL;
        if (good) {
            s->device[s->ndevices++] = name;
        }
    }
    free(copy);
    return good ? share_memory(s, err) : kg_fail(err, KG_E_LIMIT, "devices: no memory");
}

/* Where a GPU is used, each worker has a judge that must not share its runners' core. */
static int default_workers(const struct kg_supervisor *s)
{
    bool gpu = s->ndevices > 0;
    for (const struct kg_executor *const *x = kg_executors; *x && !gpu; x++) {
        gpu = strcmp((*x)->device(&s->config), "cpu") != 0;
    }
    return s->config.stage_timing && gpu && s->ncores > 1 ? s->ncores / 2 : s->ncores;
}

enum kg_code kg_supervisor_resize(struct kg_supervisor *s, int workers, struct kg_err *err)
{
    if (workers < 1 || workers > MAX_WORKERS) {
        return kg_fail(err, KG_E_USAGE, "workers: %d is not between 1 and %d", workers,
                       MAX_WORKERS);
    }
    if (workers > s->nworkers) {
        struct kg_worker_process **grown =
            realloc(s->worker, (size_t)workers * sizeof(struct kg_worker_process *));
        if (!grown) {
            return kg_fail(err, KG_E_LIMIT, "no memory for %d workers", workers);
        }
        s->worker = grown;
    }
    while (s->nworkers < workers) {
        struct kg_worker_process *w = calloc(1, sizeof *w);
        if (!w) {
            return kg_fail(err, KG_E_LIMIT, "no memory for %d workers", workers);
        }
        w->core = s->nworkers % s->ncores;
        w->device = s->ndevices > 0 ? s->nworkers % s->ndevices : 0;
        kg_channel_init(&w->channel, -1);
        s->worker[s->nworkers++] = w;
    }
    for (int i = 0; i < s->nworkers; i++) {
        s->worker[i]->unwanted = i >= workers;
        if (i >= workers && s->worker[i]->state == KG_WORKER_IDLE) {
            kg_worker_process_end(s->worker[i]);
        }
    }
    s->wanted = workers;
    return KG_OK;
}

static enum kg_code copy_path(const json_t *options, const char *key, char *out, size_t cap,
                              struct kg_err *err)
{
    const char *text = kg_frame_text(options, key);
    size_t n = (size_t)snprintf(out, cap, "%s", text ? text : "");
    return n < cap ? KG_OK : kg_fail(err, KG_E_USAGE, "%s: the path is too long", key);
}

enum kg_code kg_supervisor_open(struct kg_supervisor *s, const json_t *options, struct kg_err *err)
{
    int64_t workers = kg_frame_int(options, "workers");
    s->public_only = json_is_true(json_object_get(options, "public"));
    /* its own image, so that a worker is of the same version even where the file was replaced */
    snprintf(s->program, sizeof s->program, "/proc/self/exe");
    if (configure(s, options, err) != KG_OK ||
        find_cores(s, json_object_get(options, "cores"), err) != KG_OK ||
        find_devices(s, kg_frame_text(options, "devices"), err) != KG_OK ||
        copy_path(options, "trace", s->trace, sizeof s->trace, err) != KG_OK ||
        (s->trace[0] && kg_trace_to(s->trace, err) != KG_OK)) {
        return err->code;
    }
    if (workers < 0 || workers > MAX_WORKERS) {
        return kg_fail(err, KG_E_USAGE, "workers: %lld is not between 1 and %d", (long long)workers,
                       MAX_WORKERS);
    }
    return kg_supervisor_resize(s, workers ? (int)workers : default_workers(s), err);
}

void kg_supervisor_close(struct kg_supervisor *s)
{
    for (int i = 0; i < s->nworkers; i++) {
        kg_channel_deinit(&s->worker[i]->channel);
        kg_pool_task_destroy(s->worker[i]->task);
        free(s->worker[i]);
    }
    for (int i = 0; s->device && i < s->ndevices; i++) {
        free(s->device[i]);
    }
    for (int i = 0; s->shared && i < (s->ndevices > 0 ? s->ndevices : 1); i++) {
        if (s->shared[i] >= 0) {
            close(s->shared[i]);
        }
    }
    free(s->worker);
    free(s->device);
    free(s->shared);
    free(s->core);
    free(s->hold);
    kg_pool_tasks_deinit(&s->tasks);
    kg_channel_deinit(&s->client);
}
