/* Rows of an option table, one macro a type. The file that includes this defines OPT_STRUCT first:
 * the configuration struct whose fields the rows name. */
#ifndef KG_BASE_OPT_ROWS_H
#define KG_BASE_OPT_ROWS_H

#include <stddef.h>

#include "base/opt.h"

#define OPT_ROW(key, type, field, lo, hi, names, def, unit, help, beside, client)                  \
    {                                                                                              \
        key, type, offsetof(OPT_STRUCT, field), sizeof(((OPT_STRUCT *)0)->field), lo, hi, names,   \
            def, unit, help, beside, client                                                        \
    }
#define BOOL(key, field, def, help)                                                                \
    OPT_ROW(key, KG_OPT_BOOL, field, 0, 0, NULL, def, "", help, false, false)
#define INT(key, field, lo, hi, def, unit, help)                                                   \
    OPT_ROW(key, KG_OPT_INT, field, lo, hi, NULL, def, unit, help, false, false)
#define REAL(key, field, lo, hi, def, unit, help)                                                  \
    OPT_ROW(key, KG_OPT_REAL, field, lo, hi, NULL, def, unit, help, false, false)
#define TEXT(key, field, def, help)                                                                \
    OPT_ROW(key, KG_OPT_STRING, field, 0, 0, NULL, def, "", help, false, false)
#define ENUM(key, field, names, def, help)                                                         \
    OPT_ROW(key, KG_OPT_ENUM, field, 0, 0, names, def, "", help, false, false)

/* The same of an option that changes no verdict, so that it does not belong to the hash of an
 * evaluation's inputs. */
#define INT_BESIDE(key, field, lo, hi, def, unit, help)                                            \
    OPT_ROW(key, KG_OPT_INT, field, lo, hi, NULL, def, unit, help, true, false)
#define TEXT_BESIDE(key, field, def, help)                                                         \
    OPT_ROW(key, KG_OPT_STRING, field, 0, 0, NULL, def, "", help, true, false)
#define ENUM_BESIDE(key, field, names, def, help)                                                  \
    OPT_ROW(key, KG_OPT_ENUM, field, 0, 0, names, def, "", help, true, false)

/* The same of an option that a client of the service may set. */
#define BOOL_CLIENT(key, field, def, help)                                                         \
    OPT_ROW(key, KG_OPT_BOOL, field, 0, 0, NULL, def, "", help, false, true)
#define INT_CLIENT(key, field, lo, hi, def, unit, help)                                            \
    OPT_ROW(key, KG_OPT_INT, field, lo, hi, NULL, def, unit, help, false, true)
#define REAL_CLIENT(key, field, lo, hi, def, unit, help)                                           \
    OPT_ROW(key, KG_OPT_REAL, field, lo, hi, NULL, def, unit, help, false, true)
#define TEXT_CLIENT(key, field, def, help)                                                         \
    OPT_ROW(key, KG_OPT_STRING, field, 0, 0, NULL, def, "", help, false, true)
#define ENUM_CLIENT(key, field, names, def, help)                                                  \
    OPT_ROW(key, KG_OPT_ENUM, field, 0, 0, names, def, "", help, false, true)

#endif
