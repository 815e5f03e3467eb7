/* kgym help and kgym version: a command's own help, and pages that belong to no command. */
#include <stdio.h>
#include <string.h>

#include "base/version.h"
#include "base/yaml.h"
#include "cli/cli.h"

static const char card_text[] =
    "How to read the card that `kgym eval` prints, from top to bottom.\n"
    "\n"
    "verdict    what the candidate did, the reason, and one sentence. `kgym eval\n"
    "           --json` prints the same as a record.\n"
    "stages     extract  find the code in the reply  full     many shapes and values\n"
    "           static   rules on the source         timing   how much faster it is\n"
    "           compile  build it                    profile  whose kernels take the\n"
    "           tiny     run it once on small inputs          time (PyTorch on a GPU)\n"
    "           Below each: how long the stage took. A check mark: passed. A cross:\n"
    "           failed here. off: switched off. skip: not reached. cached: the same\n"
    "           source was compiled before. not measured: nothing was timed, and the\n"
    "           line `timing` says why.\n"
    "speed-up   time of the reference divided by time of the candidate: 2x is twice\n"
    "           as fast. In brackets: the 95 % interval. It is made from pairs: the\n"
    "           reference and the candidate run one after the other on the same\n"
    "           inputs, and each pair has a ratio. In a timed process the pairs that\n"
    "           the reference began have a median ratio, and so have those that the\n"
    "           candidate began. The process's ratio is the geometric mean of these\n"
    "           two medians. The speed-up is the geometric mean over all timed\n"
    "           processes. Noise that hits both sides of a pair cancels.\n"
    "bars       the time of each side: its median in each process, and the geometric\n"
    "           mean over processes. On a noisy host the quotient of these times can\n"
    "           differ from the speed-up, which is the figure that counts.\n"
    "pairs      how the ratios of the pairs are spread; ratios below 1x are slower\n"
    "           than the reference.\n"
    "K          call cost: the time of a call that does nothing. It is subtracted\n"
    "           from every time.\n"
    "T          the shortest time that is rewarded: 20 times the least K that was\n"
    "           seen on the core, or 100 us on a GPU. A candidate below T is rewarded\n"
    "           as if it took T. A reference below T earns no reward for speed.\n"
    "cv         spread of the candidate's times: standard deviation divided by mean.\n"
    "           Above 10 % the host is noisy: stop other work, and see `kgym doctor`.\n"
    "rewards    each preset with its terms. In the default `dr-kernel`:\n"
    "             correct   1 for a right answer\n"
    "             speed     the speed-up, at most 3 (`reward.cap`), so 7x counts as\n"
    "                       3; 0 where nothing was timed\n"
    "             coverage  the share of the device's time in kernels that the\n"
    "                       candidate wrote (PyTorch on a GPU; papers call it PR, the\n"
    "                       profiling ratio)\n"
    "           In formulas C is 1 for a right answer and else 0, s is the speed-up,\n"
    "           phi(s) is s but at most the cap, PR is the coverage. So `C phi(s)`\n"
    "           pays a right answer its speed-up, up to 3. docs/rewards.md has all\n"
    "           presets.\n"
    "isolation  how well the host confines the candidate. L2: all steps, such as a\n"
    "           file system, a network and processes of its own. L1: some of these\n"
    "           are missing. L0: not safe. L3 needs a device of its own. `kgym\n"
    "           doctor` says what is missing here.\n"
    "record     id of the record, time spent, and peak: the most memory the candidate\n"
    "           had.\n"
    "\n"
    "A word in `backquotes` is a name from your problem or its files. A shape is one\n"
    "of the sizes that the judge tries (default, tiny, larger, quarter, odd), a law\n"
    "is a kind of input values.\n";

static const struct {
    const char *name, *text;
} pages[] = {
    {"card", card_text},
};
#define NPAGES (sizeof pages / sizeof *pages)

static int unknown(const char *word, const struct kg_command *commands, size_t n)
{
    const char *names[32];
    size_t count = 0;
    for (; count < NPAGES; count++) {
        names[count] = pages[count].name;
    }
    for (size_t i = 0; i < n && count < sizeof names / sizeof *names; i++) {
        names[count++] = commands[i].name;
    }
    struct kg_err err = KG_ERR_INIT;
    const char *near = kg_nearest(word, names, count);
    enum kg_code code =
        near ? kg_fail(&err, KG_E_USAGE, "no page `%.100s`; did you mean `%s`?", word, near)
             : kg_fail(&err, KG_E_USAGE, "no page `%.100s`; `kgym --help` lists them", word);
    return code == KG_OK ? KG_STATUS_GOOD : kg_cli_fail("help", &err);
}

int kg_cmd_help(int argc, char **argv)
{
    size_t n;
    const struct kg_command *commands = kg_cli_commands(&n);
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        kg_cli_usage(stdout);
        return KG_STATUS_GOOD;
    }
    for (size_t i = 0; i < NPAGES; i++) {
        if (strcmp(argv[1], pages[i].name) == 0) {
            fputs(pages[i].text, stdout);
            return KG_STATUS_GOOD;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            char name[32], flag[] = "--help";
            snprintf(name, sizeof name, "%s", commands[i].name);
            char *words[] = {name, flag, NULL};
            return commands[i].run(2, words);
        }
    }
    return unknown(argv[1], commands, n);
}

int kg_cmd_version(int argc, char **argv)
{
    static const char *const known[] = {"--help", NULL};
    struct kg_err err = KG_ERR_INIT;
    if (argc > 1 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0) {
        return kg_cli_unknown("version", argv[1], known, false, &err) == KG_OK
                   ? KG_STATUS_GOOD
                   : kg_cli_fail("version", &err);
    }
    puts(argc > 1 ? "usage: kgym version\n\nPrints the version, as --version and -V do."
                  : "kgym " KG_VERSION);
    return KG_STATUS_GOOD;
}
