/* The dashboard: the files of web/, which are a part of this program. There is no file to find, so
 * no path can lead elsewhere. They hold no data of anybody's, so no token is asked for: what they
 * show they ask of /v1, with the token of whoever looks.
 *
 * The policy lets the page load its own files and talk to its own service, and nothing else: a
 * reply that came to be read as HTML could still run nothing and send nothing anywhere. */
#include <string.h>

#include "base/hash.h"
#include "svc/api_private.h"

#define FILE_OF(symbol, name)                                                                      \
    __asm__(".pushsection .rodata\n"                                                               \
            ".hidden kg_svc_web_" symbol ", kg_svc_web_" symbol "_end\n"                           \
            ".global kg_svc_web_" symbol ", kg_svc_web_" symbol "_end\n"                           \
            "kg_svc_web_" symbol ":\n"                                                             \
            ".incbin \"web/" name "\"\n"                                                           \
            "kg_svc_web_" symbol "_end:\n"                                                         \
            ".byte 0\n"                                                                            \
            ".popsection\n")
#define FILES(F)                                                                                   \
    F(index, "index.html", "text/html; charset=utf-8")                                             \
    F(style, "style.css", "text/css; charset=utf-8")                                               \
    F(icon, "icon.svg", "image/svg+xml")                                                           \
    F(app, "app.js", SCRIPT)                                                                       \
    F(api, "api.js", SCRIPT)                                                                       \
    F(dom, "dom.js", SCRIPT)                                                                       \
    F(chart, "chart.js", SCRIPT)                                                                   \
    F(diff, "diff.js", SCRIPT)                                                                     \
    F(overview, "overview.js", SCRIPT)                                                             \
    F(evaluations, "evaluations.js", SCRIPT)                                                       \
    F(evaluation, "evaluation.js", SCRIPT)                                                         \
    F(compare, "compare.js", SCRIPT)                                                               \
    F(trajectories, "trajectories.js", SCRIPT)                                                     \
    F(problems, "problems.js", SCRIPT)
#define SCRIPT "text/javascript; charset=utf-8"

#define EMBED(symbol, name, type)                                                                  \
    FILE_OF(#symbol, name);                                                                        \
    extern const char kg_svc_web_##symbol[], kg_svc_web_##symbol##_end[];
FILES(EMBED)

#define ROW(symbol, name, type) {name, type, kg_svc_web_##symbol, kg_svc_web_##symbol##_end},
static const struct {
    const char *name, *type, *begin, *end;
} files[] = {FILES(ROW)};

static const char policy[] = "default-src 'self'; base-uri 'none'; form-action 'none'; "
                             "frame-ancestors 'none'; object-src 'none'";

static void redirect(struct kg_svc_exchange *x)
{
    kg_svc_header(x, "Location", "/ui/");
    kg_svc_header(x, "Vary", "Accept");
    kg_svc_reply(x, 302, "text/plain; charset=utf-8", "", 0);
}

/* The browser asks each time whether it has changed, since the next kgym is served at the same
 * address. */
static void answer(struct kg_svc_exchange *x, size_t i)
{
    char sum[KG_SHA256_HEX], tag[KG_SHA256_HEX + 2];
    size_t n = (size_t)(files[i].end - files[i].begin);
    kg_sha256_hex(files[i].begin, n, sum);
    snprintf(tag, sizeof tag, "\"%s\"", sum);
    kg_svc_header(x, "Content-Security-Policy", policy);
    kg_svc_header(x, "Referrer-Policy", "no-referrer");
    kg_svc_header(x, "Cache-Control", "no-cache");
    kg_svc_header(x, "ETag", tag);
    bool same = strstr(kg_svc_request(x)->known, tag) != NULL;
    kg_svc_reply(x, same ? 304 : 200, files[i].type, files[i].begin, same ? 0 : n);
}

void kg_svc_get_ui(struct kg_svc_exchange *x, void *ctx)
{
    const struct kg_svc_request *r = kg_svc_request(x);
    const char *name = r->arg[0] != NULL ? r->arg[0] : "";
    (void)ctx;
    if (name[0] == '\0' && strcmp(r->path, "/ui/") != 0) { /* its files are named relative to it */
        redirect(x);
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (strcmp(name[0] != '\0' ? name : "index.html", files[i].name) == 0) {
            answer(x, i);
            return;
        }
    }
    kg_svc_reply_error(x, 404, "no_path", "", "the dashboard has no such file");
}

void kg_svc_get_root(struct kg_svc_exchange *x, void *ctx)
{
    if (strstr(kg_svc_request(x)->accept, "text/html") != NULL) {
        redirect(x);
    } else {
        kg_svc_kernelgym_get_root(x, ctx);
    }
}
