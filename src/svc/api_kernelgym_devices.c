/* The devices of kgym's own workers as KernelGYM tells of workers and GPUs. They are what
 * GET /v1/devices lists, so a count of what they hold may be some seconds old. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "svc/api_kernelgym.h"
#include "svc/api_worker.h"
#include "svc/kernelgym_time.h"

static const char *text(const json_t *j, const char *key)
{
    const char *s = json_string_value(json_object_get(j, key));
    return s != NULL ? s : "";
}

/* "cuda:0" of "HOST/cuda:0". */
static const char *short_name(const char *device)
{
    const char *slash = strrchr(device, '/');
    return slash != NULL ? slash + 1 : device;
}

/* Is it a GPU? Its words "model:H100" and so on are joined in model. */
static bool read_words(const json_t *device, char model[KG_SVC_KERNELGYM_MODEL])
{
    static const char begins[] = "model:";
    bool gpu = false;
    size_t i;
    json_t *word;
    model[0] = '\0';
    json_array_foreach(json_object_get(device, "words"), i, word)
    {
        const char *s = json_string_value(word);
        size_t n = strlen(model);
        gpu = gpu || strcmp(s, "cuda") == 0;
        if (strncmp(s, begins, strlen(begins)) == 0) {
            snprintf(model + n, KG_SVC_KERNELGYM_MODEL - n, "%s%s", n > 0 ? " " : "",
                     s + strlen(begins));
        }
    }
    return gpu;
}

/* The short name, unless a GPU of another host has it. */
static const char *gpu_name(const struct kg_svc_kernelgym_devices *d, const char *name)
{
    for (size_t i = 0; i < d->ngpus; i++) {
        if (strcmp(d->gpu[i].name, short_name(name)) == 0) {
            return name;
        }
    }
    return short_name(name);
}

static void add_device(struct kg_svc_kernelgym_devices *d, const json_t *device, bool available)
{
    const char *name = text(device, "name");
    json_int_t mb = json_integer_value(json_object_get(device, "memory_mb"));
    d->worker[d->nworkers++] = (struct kg_kernelgym_worker){
        name, (int64_t)json_array_size(json_object_get(device, "holds"))};
    if (read_words(device, d->model[d->ngpus])) {
        d->gpu[d->ngpus] = (struct kg_kernelgym_device){.name = gpu_name(d, name),
                                                        .model = d->model[d->ngpus],
                                                        .memory_bytes = mb * (1 << 20),
                                                        .available = available};
        d->ngpus++;
    }
}

/* Of workers that are there. */
void kg_svc_kernelgym_devices_open(struct kg_svc_api *a, struct kg_svc_kernelgym_devices *out)
{
    int64_t now = kg_svc_now_ms();
    size_t i, most = 0;
    const char *id;
    json_t *w, *device;
    kg_svc_notices_tick(a);
    json_object_foreach(a->workers, id, w)
    {
        most += json_array_size(json_object_get(w, "devices"));
    }
    *out = (struct kg_svc_kernelgym_devices){.gpu = calloc(most + 1, sizeof *out->gpu),
                                             .worker = calloc(most + 1, sizeof *out->worker),
                                             .model = calloc(most + 1, sizeof *out->model)};
    KG_ASSERT(out->gpu != NULL && out->worker != NULL && out->model != NULL);
    json_object_foreach(a->workers, id, w)
    {
        json_array_foreach(json_object_get(w, "devices"), i, device)
        {
            if (kg_svc_worker_is_there(w, now)) {
                add_device(out, device, !kg_svc_is_aside(a, text(device, "name")));
            }
        }
    }
}

void kg_svc_kernelgym_devices_close(struct kg_svc_kernelgym_devices *d)
{
    free(d->gpu);
    free(d->worker);
    free(d->model);
    *d = (struct kg_svc_kernelgym_devices){.ngpus = 0};
}

json_t *kg_svc_kernelgym_own_workers(struct kg_svc_api *a)
{
    int64_t now = kg_svc_now_ms();
    json_t *out = json_object(), *w, *device;
    const char *id;
    size_t i;
    kg_svc_notices_tick(a);
    json_object_foreach(a->workers, id, w)
    {
        json_array_foreach(json_object_get(w, "devices"), i, device)
        {
            const char *name = text(device, "name");
            bool on = kg_svc_worker_is_there(w, now) && !kg_svc_is_aside(a, name);
            int64_t seen_ms = json_integer_value(json_object_get(w, "seen_ms"));
            json_object_set_new(out, name,
                                json_pack("{s:s, s:s, s:o, s:s, s:s}", "device", short_name(name),
                                          "status", on ? "online" : "offline", "last_heartbeat",
                                          kg_kernelgym_time(seen_ms * 1000), "node_id", "",
                                          "hostname", text(w, "host")));
        }
    }
    return out;
}
