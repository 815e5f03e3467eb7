/* The public calls that ask the supervisor something and wait for its answer. */
#include <string.h>

#include "gym/pool/client.h"

static enum kgym_code request(struct kgym_pool *p, json_t *head, json_t **reply,
                              struct kgym_error *err)
{
    struct kg_err e = KG_ERR_INIT;
    json_t *ignored = NULL;
    pthread_mutex_lock(&p->lock);
    (void)!kg_client_request(p, head, "", 0, reply ? reply : &ignored, &e);
    pthread_mutex_unlock(&p->lock);
    json_decref(ignored);
    return kg_client_error(&e, err);
}

enum kgym_code kgym_info(struct kgym_pool *p, struct kgym_info *out, struct kgym_error *err)
{
    struct kg_err e = KG_ERR_INIT;
    json_t *reply = NULL;
    struct kgym_info now;
    size_t size = out->size;
    if (!kg_client_copy(&now, sizeof now, out, size)) {
        kg_fail(&e, KG_E_USAGE, "info: size is not that of a known kgym_info");
        return kg_client_error(&e, err);
    }
    enum kgym_code code = request(p, json_pack("{s:s}", "call", "info"), &reply, err);
    now = (struct kgym_info){.size = size,
                             .workers = (int)kg_frame_int(reply, "workers"),
                             .cores = (int)kg_frame_int(reply, "cores"),
                             .running = (int)kg_frame_int(reply, "running"),
                             .queued = (int)kg_frame_int(reply, "queued"),
                             .queue_limit = p->queue_limit};
    memcpy(out, &now, size); /* of an older header: its fields are the first of these */
    json_decref(reply);
    return code;
}

static void forget_core(struct kgym_pool *p, int core)
{
    for (size_t i = json_array_size(p->held); i-- > 0;) {
        json_int_t held = json_integer_value(json_array_get(p->held, i));
        if (held == core || (core == KG_ALL_CORES && held != KG_CLIENT_NO_CORE)) {
            json_array_remove(p->held, i);
        }
    }
}

/* What a supervisor that is started anew must be told changes under the same lock as the request,
 * so that no restart comes in between. */
enum kgym_code kgym_resize(struct kgym_pool *p, int workers, struct kgym_error *err)
{
    struct kg_err e = KG_ERR_INIT;
    json_t *head = json_pack("{s:s, s:i}", "call", "resize", "workers", workers), *ignored = NULL;
    pthread_mutex_lock(&p->lock);
    if (kg_client_request(p, head, "", 0, &ignored, &e) == KG_OK) {
        p->workers = workers;
    }
    pthread_mutex_unlock(&p->lock);
    json_decref(ignored);
    return kg_client_error(&e, err);
}

static void drop_note(struct kgym_pool *p, const json_t *note)
{
    for (size_t i = json_array_size(p->held); i-- > 0;) {
        if (json_array_get(p->held, i) == note) {
            json_array_remove(p->held, i);
        }
    }
}

/* The note that a core is held is made before the request: once the supervisor holds the core, no
 * memory may lack. It is KG_CLIENT_NO_CORE until then. */
static enum kg_code hold(struct kgym_pool *p, json_t *head, int core, struct kg_err *err)
{
    json_t *note = json_integer(KG_CLIENT_NO_CORE), *ignored = NULL;
    if (json_array_append(p->held, note) != 0) {
        json_decref(note);
        json_decref(head);
        return kg_fail(err, KG_E_LIMIT, "no memory to note that core %d is held", core);
    }
    enum kg_code code = kg_client_request(p, head, "", 0, &ignored, err);
    if (code == KG_OK) {
        forget_core(p, core);
        json_integer_set(note, core);
    } else {
        drop_note(p, note);
    }
    json_decref(note);
    json_decref(ignored);
    return code;
}

enum kgym_code kgym_hold_core(struct kgym_pool *p, int core, int timeout_ms, struct kgym_error *err)
{
    json_t *head =
        json_pack("{s:s, s:i, s:i}", "call", "hold", "core", core, "timeout_ms", timeout_ms);
    struct kg_err e = KG_ERR_INIT;
    pthread_mutex_lock(&p->lock);
    (void)!hold(p, head, core, &e);
    pthread_mutex_unlock(&p->lock);
    return kg_client_error(&e, err);
}

enum kgym_code kgym_release_core(struct kgym_pool *p, int core, struct kgym_error *err)
{
    pthread_mutex_lock(&p->lock);
    forget_core(p, core);
    pthread_mutex_unlock(&p->lock);
    return request(p, json_pack("{s:s, s:i}", "call", "release", "core", core), NULL, err);
}
