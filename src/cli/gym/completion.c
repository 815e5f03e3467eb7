/* kgym completion: a script for bash or zsh, printed from the tables that the parsers read, so that
 * it offers every command, option and value that there is. Both shells share two functions:
 *   __kgym_values OPTION           the values of an option, of a key after --set, of a word key=
 *   __kgym_words COMMAND VERB      the options and words of a command
 * A line `@file`, `@dir` or `@problem` stands for names that the shell, or kgym, looks up. */
#include <stdio.h>
#include <string.h>

#include "cli/gym/config.h"
#include "cli/gym/kernelbench.h"
#include "cli/gym/problems.h"
#include "cli/gym/prompt.h"
#include "cli/learn/problems_generate.h"
#include "gym/feedback/feedback.h"
#include "gym/reward/reward.h"

/* What takes the place of a value that is no word of a table. */
static const struct {
    const char *option, *values;
} given[] = {
    {"--token-file|--key-file|--subset|--batch|--replay|--record|--config|--baseline|--records|--"
     "trace|--out|--data|--"
     "valid|"
     "--prompt-file|--messages|--tokenizer",
     "@file"},
    {"--model|--adapter|--run|--problems|--suites|suites|--cache|cache|--folder", "@dir"},
    {"--device|device", "auto cpu cuda:0"},
    {"--compiler|compiler", "gcc clang"},
    {"--python|python", "@file"},
    {"--precision|precision", "fp32 tf32 fp16 bf16"},
    {"--league|league", "fp32 tf32"},
    {"--language", "triton cuda pytorch"},
    {"--strategy",
     "top-w vanilla window last-w parallel parallel-then-sequential restart no-feedback"},
    {"--metric", "reward speedup coverage lexicographic"},
    {"--w|--depth|--target|--patience", "@none"},
    {"--template", "qwen2.5 qwen2.5-base qwen3 qwen3-instruct qwen3-thinking"},
};

static void add_words(struct kg_buf *out, const char *const *list)
{
    for (; *list; list++) {
        kg_buf_addf(out, " %s", *list);
    }
}

static void add_case(struct kg_buf *out, const char *option, const char *values)
{
    kg_buf_addf(out, "    %s) echo \"%s\" ;;\n", option, values);
}

static bool is_given(const char *key)
{
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        const char *at = strstr(given[i].option, key);
        size_t n = strlen(key);
        if (at && at > given[i].option && at[-1] == '|' && (at[n] == '|' || at[n] == 0)) {
            return true;
        }
    }
    return strcmp(key, "preset") == 0 || strcmp(key, "rewards") == 0;
}

/* The table's own: names of an enumeration, yes and no of a switch. A number has none. */
static void add_option_values(struct kg_buf *out)
{
    const struct kg_opts *opts = kg_config_options();
    for (size_t i = 0; i < opts->n; i++) {
        const struct kg_opt *o = &opts->table[i];
        char flag[KG_OPT_KEY_MAX];
        kg_opt_flag_name(o, flag);
        if (is_given(o->key) || (o->type != KG_OPT_ENUM && o->type != KG_OPT_BOOL)) {
            continue;
        }
        if (o->type == KG_OPT_BOOL) {
            add_case(out, o->key, "yes no");
            continue;
        }
        kg_buf_addf(out, "    --%s|%s) echo \"", flag, o->key);
        add_words(out, o->names);
        kg_buf_adds(out, "\" ;;\n");
    }
}

static void add_values(struct kg_buf *out)
{
    kg_buf_adds(out, "__kgym_values()\n{\n    case $1 in\n    --preset|preset) echo \"");
    add_words(out, kg_config_presets());
    kg_buf_adds(out, "\" ;;\n    --rewards|--reward|rewards) echo \"");
    add_words(out, kg_reward_names());
    kg_buf_adds(out, "\" ;;\n    --stop-after) echo \"");
    for (int s = 0; s < KG_ST_COUNT; s++) {
        kg_buf_addf(out, " %s", kg_stage_name((enum kg_stage)s));
    }
    kg_buf_adds(out, "\" ;;\n    --style) echo \"");
    for (int s = 0; s < KG_FEEDBACK_STYLES; s++) {
        kg_buf_addf(out, " %s", kg_feedback_style_name((enum kg_feedback_style)s));
    }
    kg_buf_adds(out, "\" ;;\n    --set) echo \"");
    const struct kg_opts *opts = kg_config_options();
    for (size_t i = 0; i < opts->n; i++) {
        kg_buf_addf(out, " %s=", opts->table[i].key);
    }
    kg_buf_adds(out, "\" ;;\n");
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        add_case(out, given[i].option, given[i].values);
    }
    add_option_values(out);
    add_case(
        out,
        "--jobs|--tokens|--limit|--hardware|--title|--level|--problem-ids|--samples|--pass-at-k|"
        "--seed|--part|--triples|--stop-at|--prompt|--system|--max-tokens|--temperature|--top-p|"
        "--top-k|--min-p|--n|--threads|--host|--port|--queue-limit|--body-mb|--term|--store|--url|"
        "--gym|--turns|--p|--policy|--context|--stop|--parallel|--request-timeout|--retry-seconds|"
        "--price-in|--price-out|--max-tokens-total|--max-money|--max-seconds|--feedback-tokens|"
        "--keep-days",
        "@none");
    kg_buf_adds(out, "    esac\n}\n");
}

static bool among(const char *word, const char *const *list)
{
    while (*list && strcmp(*list, word) != 0) {
        list++;
    }
    return *list != NULL;
}

/* The flags of the option table, for commands that take a configuration; own: those that the
 * command lists itself. */
static void add_table(struct kg_buf *out, const char *const *own)
{
    const struct kg_opts *opts = kg_config_options();
    for (size_t i = 0; i < opts->n; i++) {
        char flag[KG_OPT_KEY_MAX], word[KG_OPT_KEY_MAX + 2];
        kg_opt_flag_name(&opts->table[i], flag);
        snprintf(word, sizeof word, "--%s", flag);
        if (!among(word, own)) {
            kg_buf_addf(out, " %s", word);
        }
        if (opts->table[i].type == KG_OPT_BOOL) {
            kg_buf_addf(out, " --no-%s", flag);
        }
    }
}

static void add_kernelbench(struct kg_buf *out)
{
    kg_buf_adds(out, "    kernelbench)\n        case $2 in\n        eval) echo \"");
    add_words(out, kg_cli_kb_eval_flags);
    add_table(out, kg_cli_kb_eval_flags);
    kg_cli_kb_words(out, " ", false);
    kg_buf_adds(out, "\" ;;\n        analyze) echo \"");
    add_words(out, kg_cli_kb_analyze_flags);
    kg_cli_kb_words(out, " ", true);
    kg_buf_adds(out, "\" ;;\n        write) echo \"");
    add_words(out, kg_cli_kb_write_flags);
    kg_buf_adds(out, "\" ;;\n        *) echo \"eval analyze write --help\" ;;\n        esac ;;\n");
}

static void add_commands(struct kg_buf *out)
{
    size_t n;
    const struct kg_command *c = kg_cli_commands(&n);
    for (size_t i = 0; i < n; i++) {
        kg_buf_addf(out, " %s", c[i].name);
    }
}

static void add_others(struct kg_buf *out)
{
    kg_buf_adds(out, "    refine) echo \"@problem");
    add_words(out, kg_cli_refine_flags);
    add_words(out, kg_cli_trial_flags);
    kg_buf_adds(out, "\" ;;\n");
    add_case(out, "feedback", "@file --tokens --style --help");
    add_case(out, "options", "--markdown --static-rules --help");
    add_case(out, "completion", "bash zsh --help");
    add_case(out, "version", "--help");
}

static void add_command_words(struct kg_buf *out)
{
    static const char *const doctor[] = {"--json",   "--quick", "--store", "--config",
                                         "--preset", "--set",   "--help",  NULL};
    static const char *const problems[] = {"--json", "--resume", "--config", "--preset",
                                           "--set",  "--help",   NULL};
    kg_buf_adds(out, "__kgym_words()\n{\n    case $1 in\n    eval) echo \"@problem");
    add_words(out, kg_cli_eval_flags);
    add_table(out, kg_cli_eval_flags);
    kg_buf_adds(out, "\" ;;\n    problems)\n        case $2 in\n        list|show|check) echo "
                     "\"@problem");
    add_words(out, problems);
    add_table(out, problems);
    kg_buf_adds(out, "\" ;;\n        generate) echo \"chains");
    add_words(out, kg_cli_generate_flags);
    kg_buf_adds(out, "\" ;;\n        *) echo \"list show check generate --help\" ;;\n        esac "
                     ";;\n    doctor) echo \"");
    add_words(out, doctor);
    add_table(out, doctor);
    kg_buf_adds(out, "\" ;;\n    prompt) echo \"@problem");
    add_words(out, kg_cli_prompt_flags);
    add_table(out, kg_cli_prompt_flags);
    kg_buf_adds(out, "\" ;;\n");
    add_kernelbench(out);
    add_case(out, "report", "@file --out --title --recheck --json --help");
    kg_buf_adds(out, "    submit) echo \"@problem");
    add_words(out, kg_cli_submit_flags);
    add_table(out, kg_cli_submit_flags);
    kg_buf_adds(out, "\" ;;\n");
    kg_buf_adds(out, "    bench) echo \"@file native torch");
    add_words(out, kg_cli_bench_flags);
    add_words(out, kg_cli_trial_flags);
    kg_buf_adds(out, "\" ;;\n    serve) echo \"");
    add_words(out, kg_cli_serve_flags);
    kg_buf_adds(out, "\" ;;\n    worker) echo \"");
    add_words(out, kg_cli_worker_words);
    kg_buf_adds(out, "\" ;;\n    token) echo \"");
    add_words(out, kg_cli_token_words);
    kg_buf_adds(out, "\" ;;\n    show) echo \"");
    add_words(out, kg_cli_show_flags);
    kg_buf_adds(out, "\" ;;\n    top) echo \"");
    add_words(out, kg_cli_top_flags);
    kg_buf_adds(out, "\" ;;\n    store) echo \"@file backup restore check trim");
    add_words(out, kg_cli_store_flags);
    kg_buf_adds(out, "\" ;;\n    train) echo \"@file");
    add_words(out, kg_cli_train_flags);
    kg_buf_adds(out, "\" ;;\n    sft) echo \"@file");
    add_words(out, kg_cli_sft_flags);
    kg_buf_adds(out, "\" ;;\n    generate) echo \"");
    add_words(out, kg_cli_sample_flags);
    kg_buf_adds(out, "\" ;;\n");
    add_others(out);
    kg_buf_adds(out, "    help) echo \"--help card");
    add_commands(out);
    kg_buf_adds(out, "\" ;;\n    \"\") echo \"--help --version");
    add_commands(out);
    kg_buf_adds(out, "\" ;;\n    esac\n}\n");
}

/* What both shells ask: the words that may stand at the cursor. $1 the word before it, $2 the
 * command, $3 the word after the command; $4 not empty: after `=`, so values only. */
static const char chosen[] =
    "__kgym_at()\n{\n"
    "    local found=$(__kgym_values \"$1\")\n"
    "    [ -n \"$found$4\" ] || found=$(__kgym_words \"$2\" \"$3\")\n"
    "    case $found in\n"
    "    @problem*) echo \"${found#@problem}\"; kgym problems list 2>/dev/null | cut -d' ' -f1 ;;\n"
    "    *) echo \"$found\" ;;\n"
    "    esac\n"
    "}\n";

/* Bash splits words at `=`: `--set a=b` are four of them. A list (`--rewards a,b`) goes on after
 * its last comma. */
static const char bash_script[] =
    "_kgym()\n{\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} before= equal= list\n"
    "    if [ \"$cur\" = = ]; then\n        cur= equal=1\n    elif [ \"$prev\" = = ]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD-2]} equal=1\n    fi\n"
    "    case $cur in *,*) before=${cur%,*}, ;; esac\n"
    "    if [ \"$COMP_CWORD\" = 1 ]; then\n        list=$(__kgym_at '' '' '')\n    else\n"
    "        list=$(__kgym_at \"$prev\" \"${COMP_WORDS[1]}\" \"${COMP_WORDS[2]}\" $equal)\n"
    "    fi\n"
    "    COMPREPLY=()\n"
    "    case $list in\n"
    "    @none) return ;;\n"
    "    @dir) COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n"
    "    @file*) COMPREPLY=($(compgen -f -- \"$cur\")); list=${list#@file} ;;\n"
    "    esac\n"
    "    COMPREPLY+=($(compgen -P \"$before\" -W \"$list\" -- \"${cur#\"$before\"}\"))\n"
    "    case ${COMPREPLY[0]} in *=) compopt -o nospace 2>/dev/null ;; esac\n"
    "}\n"
    "complete -o default -F _kgym kgym\n";

static const char zsh_script[] =
    "_kgym()\n{\n"
    "    local cur=${words[CURRENT]} prev=${words[CURRENT-1]} equal= list\n"
    "    case $cur in\n"
    "    *=*)\n        prev=${cur%%=*} equal=1\n        compset -P '*=' ;;\n"
    "    esac\n"
    "    compset -P '*,'\n"
    "    if (( CURRENT == 2 )); then\n        list=$(__kgym_at '' '' '')\n    else\n"
    "        list=$(__kgym_at \"$prev\" \"${words[2]}\" \"${words[3]}\" $equal)\n    fi\n"
    "    case $list in\n"
    "    @none) return ;;\n"
    "    @dir) _files -/; return ;;\n"
    "    @file*) _files; list=${list#@file} ;;\n"
    "    esac\n"
    "    local -a plain open\n"
    "    plain=(${=list})\n    open=(${(M)plain:#*=})\n    plain=(${plain:#*=})\n"
    "    compadd -- $plain\n    compadd -S '' -- $open\n"
    "    case ${words[2]} in eval|problems|refine) _files ;; esac\n"
    "}\n"
    "if [ \"${funcstack[1]}\" = _kgym ]; then\n    _kgym \"$@\"\nelse\n    compdef _kgym "
    "kgym\nfi\n";

static const char help_text[] =
    "usage: kgym completion [bash | zsh]\n"
    "\n"
    "Prints a script that completes commands, options, values and problems. Default:\n"
    "bash.\n"
    "\n"
    "  bash   eval \"$(kgym completion)\" in ~/.bashrc\n"
    "  zsh    eval \"$(kgym completion zsh)\" in ~/.zshrc, after compinit; or as the\n"
    "         file _kgym in a folder of $fpath\n";

int kg_cmd_completion(int argc, char **argv)
{
    static const char *const known[] = {"bash", "zsh", "--help", NULL};
    struct kg_err err = KG_ERR_INIT;
    struct kg_buf out;
    const char *shell = argc > 1 ? argv[1] : "bash";
    bool zsh = strcmp(shell, "zsh") == 0;
    if (strcmp(shell, "--help") == 0 || strcmp(shell, "-h") == 0) {
        fputs(help_text, stdout);
        return KG_STATUS_GOOD;
    }
    if ((!zsh && strcmp(shell, "bash") != 0) || argc > 2) {
        const char *word = argc > 2 ? argv[2] : shell;
        return kg_cli_unknown("completion", word, known, NULL, &err) == KG_OK
                   ? KG_STATUS_GOOD
                   : kg_cli_fail("completion", &err);
    }
    kg_buf_init(&out, 1 << 20);
    kg_buf_adds(&out, zsh ? "#compdef kgym\n" : "");
    add_values(&out);
    add_command_words(&out);
    kg_buf_adds(&out, chosen);
    kg_buf_adds(&out, zsh ? zsh_script : bash_script);
    fputs(out.data, stdout);
    kg_buf_deinit(&out);
    return KG_STATUS_GOOD;
}
