/* Asking a service. */
#include "cli/svc/watch.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum kg_code kg_watch_word(struct kg_watch *w, int argc, char **argv, int at, int *used,
                           struct kg_err *err)
{
    *used = 0;
    if (kg_cli_value("--url", argc, argv, at, used, &w->url, err) != KG_OK || *used > 0) {
        return err->code;
    }
    return kg_cli_value("--token-file", argc, argv, at, used, &w->token_file, err);
}

enum kg_code kg_watch_open(struct kg_watch *w, struct kg_err *err)
{
    const char *url = w->url != NULL ? w->url : getenv("KGYM_URL");
    if (kg_svc_token_find(w->token_file, w->token, err) != KG_OK ||
        kg_svc_target_parse(url != NULL && url[0] != '\0' ? url : "http://127.0.0.1", &w->target,
                            err) != KG_OK) {
        return err->code;
    }
    w->target.token = w->token[0] != '\0' ? w->token : NULL;
    return KG_OK;
}

enum kg_code kg_watch_get(const struct kg_watch *w, const char *path, json_t **out,
                          struct kg_err *err)
{
    int status;
    if (kg_svc_fetch(&w->target, "GET", path, NULL, &status, out, err) != KG_OK) {
        return err->code;
    }
    if (status == 200 && *out != NULL) {
        return KG_OK;
    }
    const char *message = kg_watch_text(*out, "message");
    kg_fail(err,
            status == 404  ? KG_E_NOT_FOUND
            : status < 500 ? KG_E_USAGE
                           : KG_E_IO,
            "http://%s:%d answers %d%s%.200s", w->target.host, w->target.port, status,
            message[0] != '\0' ? ": " : "", message);
    json_decref(*out);
    *out = NULL;
    return err->code;
}

const char *kg_watch_text(const json_t *j, const char *name)
{
    const char *t = json_string_value(json_object_get(j, name));
    return t != NULL ? t : "";
}

double kg_watch_number(const json_t *j, const char *name)
{
    return json_number_value(json_object_get(j, name));
}
