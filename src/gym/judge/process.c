/* The process of the judge: it starts up, confines itself and serves requests. */
#include "gym/judge/process.h"

#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "gym/judge/state.h"
#include "gym/run/trusted.h"

/* Answers a malformed message with an error, and changes nothing. */
static void refuse(const char *why, int *fds, int nfds, struct kg_judge_rep *rep)
{
    struct kg_err err = KG_ERR_INIT;
    kg_fail(&err, KG_E_GYM, "judge: %s", why);
    *rep = (struct kg_judge_rep){.magic = KG_JUDGE_MAGIC, .code = KG_E_GYM};
    memcpy(rep->message, err.message, sizeof rep->message);
    for (int k = 0; k < nfds; k++) {
        close(fds[k]);
    }
}

static void serve(struct kg_judge_state *s)
{
    /* One byte more than a request, so that a longer message is noticed. */
    _Alignas(struct kg_judge_req) char buf[sizeof(struct kg_judge_req) + 1];
    struct kg_judge_rep rep;
    for (;;) {
        int fds[KG_MESSAGE_FDS], nfds;
        ssize_t n = kg_message_receive(KG_TRUSTED_SOCKET, buf, sizeof buf, fds, &nfds);
        if (n < 0 || (n == 0 && nfds == 0)) {
            return;
        }
        const char *wrong = kg_judge_req_check(buf, (size_t)n);
        if (wrong != NULL) {
            refuse(wrong, fds, nfds, &rep);
        } else {
            struct kg_judge_req req;
            memcpy(&req, buf, sizeof req);
            kg_judge_serve(s, &req, fds, nfds, &rep);
        }
        if (!kg_message_send(KG_TRUSTED_SOCKET, &rep, sizeof rep, NULL, 0)) {
            return;
        }
    }
}

void kg_judge_main(int sock, int cpu, pid_t broker)
{
    static struct kg_judge_state state; /* too large for a stack */
    struct kg_err err = KG_ERR_INIT;
    kg_trusted_enter(sock, cpu, broker, "kgym-judge", "judge");
    kg_trusted_warm_up();
    struct kg_judge_rep hello = {.magic = KG_JUDGE_MAGIC, .op = KG_JUDGE_HELLO};
    hello.code = (uint32_t)kg_judge_state_init(&state, &err);
    memcpy(hello.message, err.message, sizeof hello.message);
    hello.flag = kg_trusted_confine();
    if (kg_message_send(KG_TRUSTED_SOCKET, &hello, sizeof hello, NULL, 0) && hello.code == KG_OK) {
        serve(&state);
    }
    _exit(0);
}
