/* The version of program and library, in one place: the Makefile reads it too. */
#ifndef KG_BASE_VERSION_H
#define KG_BASE_VERSION_H

#define KG_VERSION "0.1.0"

#endif
