/* The hidden command that a pool executes whose judge is a service. */
#include <stdio.h>
#include <sys/socket.h>

#include "cli/cli.h"
#include "gym/pool/spawn.h"
#include "remote/remote.h"

int kg_cmd_pool_remote(int argc, char **argv)
{
    int type;
    socklen_t size = sizeof type;
    (void)argc;
    if (getsockopt(KG_ROLE_SOCKET, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        fprintf(stderr, "kgym %s: only kgym itself starts this (see kgym.h)\n", argv[0]);
        return KG_STATUS_ERROR;
    }
    return kg_remote_run(KG_ROLE_SOCKET);
}
