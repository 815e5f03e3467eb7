/* Messages over a socket with descriptors beside them. A socket of SOCK_SEQPACKET: one message is
 * one message. */
#ifndef KG_BASE_MESSAGE_H
#define KG_BASE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define KG_MESSAGE_FDS 8 /* that one message may carry */

/* One message of at most cap bytes: its length, 0 at the end, -1 on error. *nfds descriptors, the
 * caller's now, closed on exec; more than KG_MESSAGE_FDS are never accepted. */
ssize_t kg_message_receive(int sock, void *buf, size_t cap, int fds[KG_MESSAGE_FDS], int *nfds);
/* False: not all of it went. nfds: at most KG_MESSAGE_FDS; they stay the caller's. */
bool kg_message_send(int sock, const void *msg, size_t n, const int *fds, int nfds);

#endif
