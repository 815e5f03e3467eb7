/* Holds answers of the service to its own description, openapi.json: a check of JSON against the
 * part of JSON Schema that the description uses. A word of a schema that is not known here fails,
 * so that nothing in the description is for show. */
#ifndef KG_TESTS_SUPPORT_SVC_SCHEMA_H
#define KG_TESTS_SUPPORT_SVC_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The description, parsed once. */
const json_t *svc_schema_openapi(void);
/* Its entry {method: operation} for a path as it is sent, without a query. NULL: none. */
const json_t *svc_schema_path(const char *path);
/* Does value fit? Else why [200] names the place. */
bool svc_schema_fits(const json_t *schema, const json_t *value, char why[200]);
/* Fails the test where the answer is not what the description says of method and path. */
void svc_schema_hold(const char *method, const char *path, int status, const char *type,
                     const char *body, size_t len);

#endif
