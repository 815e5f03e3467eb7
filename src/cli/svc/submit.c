/* kgym submit: the words of `kgym eval`, judged by a service. */
#include <stdlib.h>

#include "cli/gym/eval_args.h"

#define DEFAULT_URL "http://127.0.0.1:10907"

static const char help_text[] =
    "usage: kgym submit [OPTIONS] PROBLEM REPLY\n"
    "       kgym submit [OPTIONS] --batch IN.jsonl --out OUT.jsonl [--jobs N]\n"
    "\n"
    "Judges as `kgym eval` does, with its words, its output and its exit status, by\n"
    "a service (docs/service.md). A service that restarts is waited for. A batch that\n"
    "was killed goes on by the same command, and nothing is judged twice.\n"
    "\n"
    "  --url URL         the service (default: the variable KGYM_URL, else\n"
    "                    " DEFAULT_URL ")\n"
    "  --token-file F    its token (default: the variables KGYM_TOKEN,\n"
    "                    KGYM_TOKEN_FILE)\n"
    "  --jobs N          of a batch: evaluations that are at the service at once\n"
    "                    (default 1024)\n"
    "\n"
    "The others are those of `kgym eval --help`, without --trace, and without keys\n"
    "that say where and how a host judges: device, python, cache, limits.\n"
    "\n"
    "examples:\n"
    "  kgym submit silu answer.c\n"
    "  kgym submit matmul reply.md --url http://gpu1:10907 --json | jq .verdict\n"
    "  kgym submit --batch replies.jsonl --out records.jsonl --preset train\n"
    "\n"
    "exit status: 0 verdict ok, 1 any other verdict, 2 error\n"
    "\n";

const char *const kg_cli_submit_flags[] = {
    "--source",  "--json",  "--public",     "--stop-after",  "--replay", "--reward",
    "--rewards", "--batch", "--out",        "--jobs",        "--preset", "--config",
    "--set",     "--url",   "--token-file", "--dump-config", "--help",   NULL};

int kg_cmd_submit(int argc, char **argv)
{
    const char *url = getenv("KGYM_URL");
    struct kg_eval_args a = {.command = "submit",
                             .gym_flag = "--url",
                             .flags = kg_cli_submit_flags,
                             .gym = url != NULL && *url != '\0' ? url : DEFAULT_URL};
    return kg_eval_main(&a, help_text, argc, argv);
}
