/* The role `kgym pool-worker`: a process that judges one task after the other, pinned to its core.
 * It owns a worker (eval/evaluate.h) and everything that this keeps between evaluations. It ends
 * tidily when its supervisor closes the socket, is gone, or sends SIGTERM. */
#ifndef KG_GYM_POOL_WORKER_ROLE_H
#define KG_GYM_POOL_WORKER_ROLE_H

/* sock, shared: descriptors KG_ROLE_SOCKET and KG_ROLE_SHARED. Returns the exit status. */
int kg_pool_work(int sock, int shared);

#endif
