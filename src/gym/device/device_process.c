/* The process of the judge of tensors: it starts up, confines itself and serves requests. */
#include "gym/device/device_process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "gym/device/device_state.h"
#include "gym/run/trusted.h"

/* Requests follow each other closely during timing, and a wake-up from sleep takes a tenth of
 * one. */
#define SPIN_NS 100000

/* Answers a malformed message with an error, and changes nothing. */
static void refuse(const char *why, int *fds, int nfds, struct kg_djm_rep *rep)
{
    struct kg_err err = KG_ERR_INIT;
    kg_fail(&err, KG_E_GYM, "judge: %s", why);
    memset(rep, 0, kg_djm_rep_bytes(KG_DJM_HELLO));
    rep->magic = KG_DJM_MAGIC;
    rep->code = KG_E_GYM;
    memcpy(rep->message, err.message, sizeof rep->message);
    for (int k = 0; k < nfds; k++) {
        close(fds[k]);
    }
}

static void serve(struct kg_dj_state *s)
{
    /* One byte more than a request, so that a longer message is noticed. */
    static _Alignas(struct kg_djm_req) char buf[sizeof(struct kg_djm_req) + 1];
    static struct kg_djm_req req;
    static struct kg_djm_rep rep;
    for (;;) {
        int fds[KG_MESSAGE_FDS], nfds, out[3], nout = 0;
        if (s->dev.facts.clock) {
            kg_trusted_spin(KG_TRUSTED_SOCKET, SPIN_NS);
        }
        ssize_t n = kg_message_receive(KG_TRUSTED_SOCKET, buf, sizeof buf, fds, &nfds);
        if (n < 0 || (n == 0 && nfds == 0)) {
            return;
        }
        const char *wrong = kg_djm_req_check(buf, (size_t)n);
        if (wrong != NULL) {
            refuse(wrong, fds, nfds, &rep);
        } else {
            memcpy(&req, buf, (size_t)n);
            kg_dj_serve(s, &req, fds, nfds, &rep, out, &nout);
        }
        bool sent = kg_message_send(KG_TRUSTED_SOCKET, &rep, kg_djm_rep_bytes(rep.op), out, nout);
        for (int k = 0; k < nout; k++) {
            close(out[k]);
        }
        if (!sent) {
            return;
        }
    }
}

void kg_dj_main(int sock, const struct kg_dj_spec *spec, pid_t broker,
                const struct kg_dj_pause *pause)
{
    static struct kg_dj_state state; /* too large for a stack */
    static struct kg_djm_rep hello;
    struct kg_err err = KG_ERR_INIT;
    kg_trusted_enter(sock, spec->cpu, broker, "kgym-djudge", "judge");
    kg_trusted_warm_up();
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1",
           1); /* it has one stream, and each connection takes 10 ms */
    hello.magic = KG_DJM_MAGIC;
    hello.op = KG_DJM_HELLO;
    hello.code = (uint32_t)kg_dj_state_init(&state, spec->device, spec->memory_cap, &err);
    state.pause = pause;
    memcpy(hello.message, err.message, sizeof hello.message);
    hello.facts = state.dev.facts;
    hello.facts.sealed = state.dev.sealed;
    /* The filter lacks calls that a GPU's driver needs, so only the host's judge is confined. */
    bool host = state.dev.ops == &kg_device_cpu;
    hello.facts.confined = host && kg_trusted_confine();
    size_t bytes = kg_djm_rep_bytes(KG_DJM_HELLO);
    if (kg_message_send(KG_TRUSTED_SOCKET, &hello, bytes, NULL, 0) && hello.code == KG_OK) {
        serve(&state);
    }
    _exit(0);
}
