/* The hidden commands that a pool executes: its supervisor and its workers. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

#include "cli/cli.h"
#include "gym/pool/spawn.h"
#include "gym/pool/supervisor.h"
#include "gym/pool/worker_role.h"

static bool is_socket(int fd)
{
    int type;
    socklen_t size = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

static int refuse(const char *name)
{
    fprintf(stderr, "kgym %s: only kgym itself starts this (see kgym.h)\n", name);
    return KG_STATUS_ERROR;
}

static int supervise(int argc, char **argv)
{
    (void)argc;
    return is_socket(KG_ROLE_SOCKET) ? kg_pool_supervise(KG_ROLE_SOCKET) : refuse(argv[0]);
}

static int work(int argc, char **argv)
{
    (void)argc;
    return is_socket(KG_ROLE_SOCKET) && fcntl(KG_ROLE_SHARED, F_GETFD) >= 0
               ? kg_pool_work(KG_ROLE_SOCKET, KG_ROLE_SHARED)
               : refuse(argv[0]);
}

const struct kg_command kg_cli_roles[KG_CLI_ROLES] = {
    {KG_ROLE_SUPERVISOR, supervise, ""},
    {KG_ROLE_WORKER, work, ""},
};
