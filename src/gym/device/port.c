/* Ports: the control block and the regions that one runner shares with the judge. */
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gym/device/device_state.h"

/* Makes the control block, which is host memory on every device. Its size is sealed, so that a
 * runner cannot shrink it under the judge. */
static struct kg_twire *make_wire(int *fd, struct kg_err *err)
{
    int made = memfd_create("kgym-ctrl", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0 || ftruncate(made, sizeof(struct kg_twire)) != 0) {
        kg_fail_memory(err, KG_E_HOST, "no memory for a control block: %s", strerror(errno));
        if (made >= 0) {
            close(made);
        }
        return NULL;
    }
    void *p = mmap(NULL, sizeof(struct kg_twire), PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
    if (p == MAP_FAILED ||
        fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        kg_fail(err, KG_E_HOST, "cannot map and seal a control block: %s", strerror(errno));
        if (p != MAP_FAILED) {
            munmap(p, sizeof(struct kg_twire));
        }
        close(made);
        return NULL;
    }
    *fd = made;
    return p;
}

#define POOL_BYTES ((uint64_t)64 << 20) /* needs of PyTorch's allocator beyond the answers */

/* Size of OUT with room for PyTorch's pool. Copied answers go below *below, and the runner
 * allocates above. Where memory is short *below is 0: OUT has room for one answer, wherever it
 * comes from. */
static uint64_t with_pool(const struct kg_dj_state *s, uint64_t out_bytes, uint64_t *below)
{
    if (!s->dev.pooled || s->keeps != KG_DJ_DOUBLES) {
        *below = 0;
        return s->dev.pooled ? out_bytes + POOL_BYTES : out_bytes;
    }
    *below = (out_bytes + POOL_BYTES / 2) / KG_TWIRE_GUARD * KG_TWIRE_GUARD;
    return 2 * out_bytes + POOL_BYTES;
}

static enum kg_code make_regions(struct kg_dj_state *s, struct kg_dj_port *p, int fds[3],
                                 struct kg_err *err)
{
    const struct kg_device_ops *ops = s->dev.ops;
    p->out_bytes = with_pool(s, p->out_bytes, &p->out_below);
    if (ops->export(&s->dev, &p->in_bytes, true, &p->in, &fds[1], err) != KG_OK) {
        return err->code;
    }
    if (ops->export(&s->dev, &p->out_bytes, false, &p->out, &fds[2], err) != KG_OK) {
        close(fds[1]);
        ops->unexport(&s->dev, p->in, false);
        p->in = 0;
        return err->code;
    }
    p->out_room = p->out_bytes;
    return KG_OK;
}

enum kg_code kg_dj_do_open(struct kg_dj_state *s, const struct kg_djm_req *req,
                           struct kg_djm_rep *rep, int fds[3], struct kg_err *err)
{
    int port = 0;
    while (port < KG_DJ_PORTS && s->port[port].used) {
        port++;
    }
    if (port == KG_DJ_PORTS) {
        return kg_fail(err, KG_E_LIMIT, "judge: all %d ports are in use", KG_DJ_PORTS);
    }
    struct kg_dj_port *p = &s->port[port];
    memset(p, 0, sizeof *p);
    p->pidfd = -1;
    p->in_bytes = req->in_bytes;
    p->out_bytes = req->out_bytes;
    p->wire = make_wire(&fds[0], err);
    if (p->wire == NULL) {
        return err->code;
    }
    if (make_regions(s, p, fds, err) != KG_OK) {
        close(fds[0]);
        munmap(p->wire, sizeof *p->wire);
        return err->code;
    }
    p->wire->magic = KG_TWIRE_MAGIC;
    p->wire->version = KG_TWIRE_VERSION;
    p->wire->in_bytes = p->in_bytes;
    p->wire->out_bytes = p->out_bytes;
    p->wire->out_below = p->out_below;
    p->wire->may_keep = s->runners;
    p->used = true;
    rep->port = port;
    rep->in_bytes = p->in_bytes;
    rep->out_bytes = p->out_bytes;
    return KG_OK;
}

enum kg_code kg_dj_port_need(struct kg_dj_state *s, int port, struct kg_dj_port **out,
                             struct kg_err *err)
{
    *out = &s->port[port];
    return s->port[port].used ? KG_OK : kg_fail(err, KG_E_GYM, "judge: port %d is not open", port);
}

enum kg_code kg_dj_do_use(struct kg_dj_state *s, int port, uint64_t bytes, struct kg_err *err)
{
    struct kg_dj_port *p;
    if (kg_dj_port_need(s, port, &p, err) != KG_OK) {
        return err->code;
    }
    uint64_t below = 0;
    bytes = with_pool(s, bytes, &below);
    if (bytes > p->out_room) {
        return kg_fail(err, KG_E_LIMIT, "judge: port %d has %llu bytes for answers, not %llu", port,
                       (unsigned long long)p->out_room, (unsigned long long)bytes);
    }
    p->out_bytes = s->dev.pooled ? bytes : p->out_room;
    p->wire->out_bytes = p->out_bytes;
    p->wire->out_below = p->out_below = below;
    return KG_OK;
}

enum kg_code kg_dj_do_attach(struct kg_dj_state *s, int port, int *fd, int nfds, struct kg_err *err)
{
    struct kg_dj_port *p;
    if (kg_dj_port_need(s, port, &p, err) != KG_OK) {
        return err->code;
    }
    if (nfds != 1) {
        return kg_fail(err, KG_E_GYM, "judge: attach came with %d descriptors, not 1", nfds);
    }
    if (p->pidfd >= 0) {
        close(p->pidfd);
    }
    p->pidfd = *fd;
    *fd = -1;
    return KG_OK;
}

/* The broker says that the runner ended; the judge checks at least its first process. */
static bool is_over(const struct kg_dj_port *p)
{
    struct pollfd ended = {.fd = p->pidfd, .events = POLLIN};
    return p->pidfd >= 0 && poll(&ended, 1, 0) == 1 && (ended.revents & POLLIN) != 0;
}

void kg_dj_port_drop(struct kg_dj_state *s, int port, bool again)
{
    struct kg_dj_port *p = &s->port[port];
    if (!p->used) {
        return;
    }
    again = again && is_over(p);
    if (p->pidfd >= 0) {
        close(p->pidfd);
    }
    munmap(p->wire, sizeof *p->wire);
    s->dev.ops->unexport(&s->dev, p->in, again);
    s->dev.ops->unexport(&s->dev, p->out, again);
    p->used = false;
    if (s->candidate_port == port) {
        s->candidate_port = -1;
    }
}
