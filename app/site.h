/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_APP_SITE_H
#define MILLRACE_APP_SITE_H

/*
 * An origin's content from where the configuration says: the files of its directory, and its
 * responses, which come first where both have a path.
 *
 * Of a directory everything is served but what is hidden (its name begins with a dot), what is
 * neither a file nor a directory, and symbolic links, unless they lead to a file in the directory
 * (by a relative path). What is left out, other than hidden, is counted.
 */

#include "app/config.h"
#include "app/config_fault.h"

#define SITE_DEPTH_MAX 32 /* directories in each other */

/*
 * c->origin[n], sealed. NULL, with faults: something cannot be read, or is more than the origin's
 * bounds allow. *left_out: files and links.
 */
struct origin *site_load(const struct config *c, unsigned n, struct mem *mem, unsigned *left_out,
                         struct config_faults *f);

#endif
