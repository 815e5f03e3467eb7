/* Requests to the routes under /v1 that take a body, through the server itself: the first byte
 * chooses the route, then comes the query up to the first line break, then the body. Whatever they
 * are, one answer comes, it is no 500, and what reaches the store is whole and within its bounds.
 * The store is a stub that accepts all of it. */
#include "fuzz.h"

#include <arpa/inet.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file.h"
#include "svc/api_private.h"

static const struct kg_svc_route routes[] = {
    {"POST", "/v1/evaluations", KG_SVC_SUBMIT, kg_svc_post_evaluation},
    {"POST", "/v1/batches", KG_SVC_SUBMIT, kg_svc_post_batch},
    {"POST", "/v1/reward", KG_SVC_SUBMIT, kg_svc_post_reward},
    {"POST", "/v1/worker/claim", KG_SVC_WORKER, kg_svc_post_claim},
    {"POST", "/v1/worker/renew", KG_SVC_WORKER, kg_svc_post_renew},
    {"POST", "/v1/worker/finish", KG_SVC_WORKER, kg_svc_post_finish},
    {"POST", "/v1/worker/leave", KG_SVC_WORKER, kg_svc_post_leave},
    {"GET", "/v1/evaluations", KG_SVC_READ, kg_svc_list_evaluations},
    {"GET", "/v1/events", KG_SVC_READ, kg_svc_get_events},
    {"GET", "/v1/batches/*/records", KG_SVC_READ, kg_svc_batch_records},
};

enum { ROUTES = sizeof routes / sizeof *routes, QUERY_MAX = 1024 };

/* --- the stub --- */

static enum kg_code fine(struct kg_svc_store *s, struct kg_err *err)
{
    (void)s;
    (void)err;
    return KG_OK;
}

static void back(struct kg_svc_store *s)
{
    (void)s;
}

static enum kg_code submit(struct kg_svc_store *s, const struct kg_svc_job *job,
                           const struct kg_svc_room *room, char id[KG_ULID_LEN], bool *known,
                           struct kg_err *err)
{
    json_t *task = NULL, *configuration = NULL;
    struct kg_err ignored = KG_ERR_INIT;
    (void)s;
    (void)room;
    (void)err;
    KG_ASSERT(strlen(job->id) == KG_ULID_LEN - 1 && strlen(job->key) <= KG_SVC_KEY_MAX + 16);
    KG_ASSERT(strlen(job->body_hash) == KG_SHA256_HEX - 1 && strchr(job->problem, '/') == NULL);
    KG_ASSERT(job->priority < KG_SVC_PRIORITIES && job->deadline_ms >= 0);
    KG_ASSERT(kg_json_parse(job->task, strlen(job->task), "t", &task, &ignored) == KG_OK);
    KG_ASSERT(kg_json_parse(job->configuration, strlen(job->configuration), "c", &configuration,
                            &ignored) == KG_OK);
    json_decref(task);
    json_decref(configuration);
    snprintf(id, KG_ULID_LEN, "%s", job->id);
    *known = false;
    return KG_OK;
}

static enum kg_code claim(struct kg_svc_store *s, const struct kg_svc_ask *ask,
                          struct kg_svc_job *out, size_t *of, size_t *n, struct kg_err *err)
{
    (void)s;
    KG_ASSERT(ask->worker != NULL && ask->nslots > 0);
    of[0] = 0;
    *n = 1;
    return kg_svc_job_keep(&out[0], &out[0].configuration, "{}", 2, err) != KG_OK
               ? err->code
               : kg_svc_job_keep(&out[0], &out[0].task, "{}", 2, err);
}

static enum kg_code renew(struct kg_svc_store *s, const char *id, const char *secret, int64_t fence,
                          int64_t until_ms, struct kg_err *err)
{
    (void)s;
    (void)fence;
    (void)until_ms;
    KG_ASSERT(id != NULL && secret != NULL);
    return id[0] == 'x' ? kg_fail(err, KG_E_NOT_FOUND, "gone") : KG_OK;
}

static enum kg_code holds(struct kg_svc_store *s, const char *id, const char *secret, int64_t fence,
                          struct kg_err *err)
{
    return renew(s, id, secret, fence, 0, err);
}

static enum kg_code end(struct kg_svc_store *s, const struct kg_svc_end *e, struct kg_err *err)
{
    (void)s;
    KG_ASSERT(e->id != NULL && e->claim != NULL);
    return e->id[0] == 'x' ? kg_fail(err, KG_E_NOT_FOUND, "gone") : KG_OK;
}

static enum kg_code get(struct kg_svc_store *s, const char *id, bool with_task,
                        struct kg_svc_job *out, struct kg_err *err)
{
    (void)s;
    (void)with_task;
    (void)err;
    out->state = KG_SVC_DEAD;
    snprintf(out->id, sizeof out->id, "%.26s", id);
    return KG_OK;
}

static enum kg_code list(struct kg_svc_store *s, const struct kg_svc_filter *f, kg_svc_on_job *each,
                         void *ctx, struct kg_err *err)
{
    struct kg_svc_job job;
    (void)s;
    (void)err;
    kg_svc_job_init(&job);
    job.state = KG_SVC_DEAD;
    if (f->limit > 0 && f->from == 0) {
        each(ctx, &job);
    }
    kg_svc_job_deinit(&job);
    return KG_OK;
}

static enum kg_code events(struct kg_svc_store *s, int64_t after, const char *id, size_t limit,
                           kg_svc_on_event *each, void *ctx, struct kg_err *err)
{
    const struct kg_svc_event e = {.seq = 1, .id = "i", .type = "submitted", .detail = "\"p\n"};
    (void)s;
    (void)id;
    (void)err;
    if (limit > 0 && after < 1) {
        each(ctx, &e);
    }
    return KG_OK;
}

static enum kg_code notice(struct kg_svc_store *s, const struct kg_svc_notice *notice,
                           int64_t now_ms, struct kg_err *err)
{
    (void)s;
    (void)now_ms;
    (void)err;
    KG_ASSERT(notice->kind != NULL && notice->name != NULL);
    return KG_OK;
}

static enum kg_code notices(struct kg_svc_store *s, const char *kind, int64_t now_ms,
                            kg_svc_on_notice *each, void *ctx, struct kg_err *err)
{
    (void)s;
    (void)kind;
    (void)now_ms;
    (void)each;
    (void)ctx;
    (void)err;
    return KG_OK;
}

static const struct kg_svc_store_kind stub = {.name = "stub",
                                              .begin = fine,
                                              .commit = fine,
                                              .rollback = back,
                                              .submit = submit,
                                              .claim = claim,
                                              .renew = renew,
                                              .holds = holds,
                                              .finish = end,
                                              .fail = end,
                                              .give_back = end,
                                              .get = get,
                                              .list = list,
                                              .events = events,
                                              .notice = notice,
                                              .notices = notices};

static enum kg_code settings(void *ctx, const char *preset, const char *rewards,
                             const char *const *set, size_t nset, struct kg_err *err)
{
    (void)ctx;
    (void)rewards;
    for (size_t i = 0; i < nset; i++) {
        KG_ASSERT(set[i] != NULL && strchr(set[i], '=') != NULL);
    }
    return preset != NULL && preset[0] == 'x' ? kg_fail(err, KG_E_USAGE, "no such preset") : KG_OK;
}

static enum kg_code problem(void *ctx, const char *name, char device[KG_SVC_DEVICE_MAX],
                            struct kg_err *err)
{
    (void)ctx;
    (void)err;
    KG_ASSERT(!kg_svc_is_path(name));
    snprintf(device, KG_SVC_DEVICE_MAX, "cpu");
    return KG_OK;
}

/* --- the server, which all inputs share --- */

static const struct kg_svc_gym gym = {.settings = settings, .problem = problem};
static struct kg_svc_store store = {&stub};
static struct kg_svc_api api;
static struct sockaddr_in address;

static char folder[] = "/tmp/kgym-fuzz-XXXXXX"; /* of records that were answered */

static void remove_folder(void)
{
    struct kg_err err = KG_ERR_INIT;
    (void)!kg_file_remove_tree(folder, &err);
}

static void open_server(void)
{
    static struct kg_svc_api_options o = {.folder = "/tmp", .term_ms = 1000, .gym = &gym};
    static struct kg_svc_http_options http = {
        .body_bytes = 1 << 20, .most_open = 16, .routes = routes, .nroutes = ROUTES, .ctx = &api};
    struct kg_err err = KG_ERR_INIT;
    socklen_t n = sizeof address;
    KG_ASSERT(kg_svc_listen("127.0.0.1", 0, &http.fd, &err) == KG_OK);
    KG_ASSERT(getsockname(http.fd, (struct sockaddr *)&address, &n) == 0);
    KG_ASSERT(mkdtemp(folder) != NULL);
    api = (struct kg_svc_api){.o = &o, .base = event_base_new(), .store = &store};
    api.stopping = true; /* nothing waits, and no stream goes on */
    kg_svc_meters_open(&api);
    KG_ASSERT(kg_svc_segments_open(folder, 1 << 20, &api.segments, &err) == KG_OK);
    atexit(remove_folder);
    KG_ASSERT(kg_svc_writer_open(api.base, &store, api.segments, NULL, NULL, &api.writer, &err) ==
              KG_OK);
    KG_ASSERT(kg_svc_http_open(api.base, &http, &api.http, &err) == KG_OK);
}

static void send_all(int s, const char *bytes, size_t n)
{
    for (size_t sent = 0; sent < n;) {
        ssize_t more = send(s, bytes + sent, n - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += more > 0 ? (size_t)more : 0;
        event_base_loop(api.base, EVLOOP_NONBLOCK);
        if (more < 0 && sent < n && recv(s, &(char){0}, 1, MSG_PEEK | MSG_DONTWAIT) >= 0) {
            return; /* it was answered before it was read */
        }
    }
}

static void check(const struct kg_buf *answer)
{
    const char *body = strstr(answer->data, "\r\n\r\n");
    int status = strncmp(answer->data, "HTTP/1.1 ", 9) == 0 ? atoi(answer->data + 9) : 0;
    struct kg_err err = KG_ERR_INIT;
    json_t *j = NULL;
    KG_ASSERT(body != NULL && status >= 200 && status < 600 && status != 500);
    if (status < 400 || strstr(answer->data, "Content-Type: application/json") == NULL) {
        return;
    }
    body += 4;
    KG_ASSERT(kg_json_parse(body, strlen(body), "answer", &j, &err) == KG_OK);
    KG_ASSERT(json_is_string(json_object_get(j, "code")) && json_object_size(j) == 3);
    KG_ASSERT(json_string_length(json_object_get(j, "message")) < 512);
    json_decref(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct linger none = {.l_onoff = 1};
    if (api.base == NULL) {
        open_server();
    }
    if (size < 2) {
        return 0;
    }
    const struct kg_svc_route *r = &routes[data[0] % ROUTES];
    const uint8_t *line = memchr(data, '\n', size);
    size_t query = line != NULL ? (size_t)(line - data) - 1 : 0;
    size_t skip = line != NULL ? (size_t)(line - data) + 1 : 1;
    struct kg_buf text;
    char piece[4096];
    if (query > QUERY_MAX || (line != NULL && line == data)) {
        return 0;
    }
    kg_buf_init(&text, 1 << 21);
    kg_buf_addf(&text, "%s %s?", r->method, r->pattern);
    for (size_t i = 0; i < query; i++) {
        kg_buf_addc(&text, data[1 + i] > ' ' && data[1 + i] < 127 ? (char)data[1 + i] : '+');
    }
    kg_buf_addf(&text,
                " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %zu\r\n\r\n",
                size - skip);
    kg_buf_add(&text, (const char *)data + skip, size - skip);
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    KG_ASSERT(s >= 0 && setsockopt(s, SOL_SOCKET, SO_LINGER, &none, sizeof none) == 0);
    KG_ASSERT(connect(s, (struct sockaddr *)&address, sizeof address) == 0);
    send_all(s, text.data, text.len);
    kg_buf_reset(&text);
    for (ssize_t n = 1; n != 0 && (n > 0 || text.len == 0 || api.http != NULL);) {
        event_base_loop(api.base, EVLOOP_NONBLOCK);
        n = recv(s, piece, sizeof piece, MSG_DONTWAIT);
        kg_buf_add(&text, piece, n > 0 ? (size_t)n : 0);
        if (n < 0) {
            usleep(20);
        }
    }
    close(s);
    check(&text);
    kg_buf_deinit(&text);
    return 0;
}
