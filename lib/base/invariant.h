/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_INVARIANT_H
#define MILLRACE_BASE_INVARIANT_H

/*
 * One invariant function per object, `static bool x_ok(const struct x *)`, asserted when an entry
 * point returns. It may cost as much as the object is large, so only builds with -Dinvariants=true
 * evaluate it; plain assert() stays for what is cheap.
 */

#include <assert.h>

#ifdef MILLRACE_INVARIANTS
#define invariant(ok) assert(ok)
#else
#define invariant(ok) ((void)(0 && (ok))) /* compiled, never run */
#endif

#endif
