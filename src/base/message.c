#include "base/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

ssize_t kg_message_receive(int sock, void *buf, size_t cap, int fds[KG_MESSAGE_FDS], int *nfds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KG_MESSAGE_FDS * sizeof(int))];
    struct iovec iov = {buf, cap};
    struct msghdr m = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t n;
    *nfds = 0;
    do {
        n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return -1;
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c != NULL; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            *nfds = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(fds, CMSG_DATA(c), (size_t)*nfds * sizeof(int));
        }
    }
    return n;
}

bool kg_message_send(int sock, const void *msg, size_t n, const int *fds, int nfds)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(KG_MESSAGE_FDS * sizeof(int))] = {0};
    struct iovec iov = {.iov_len = n};
    memcpy(&iov.iov_base, &msg, sizeof msg); /* sendmsg does not write */
    struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1};
    if (nfds > 0) {
        m.msg_control = control;
        m.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
        memcpy(CMSG_DATA(c), fds, (size_t)nfds * sizeof(int));
    }
    ssize_t sent;
    do {
        sent = sendmsg(sock, &m, MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)n;
}
