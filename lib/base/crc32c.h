/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_BASE_CRC32C_H
#define MILLRACE_BASE_CRC32C_H

/*
 * CRC32c (Castagnoli; RFC 9260 appendix A, RFC 3720 12.1), in the usual form: bits reflected,
 * initial value and result complemented, so that the CRC of "123456789" is 0xe3069283. SCTP puts
 * the result on the wire least significant byte first.
 *
 * Which code is fastest depends on the CPU. Whoever needs the CRC asks crc32c_select once and keeps
 * the function it returns; all of them give the same results.
 */

#include <stddef.h>
#include <stdint.h>

/*
 * The CRC of some bytes followed by data, where crc is that of the bytes before (0 for none): a
 * chain is one call a view. data may have any alignment, and be NULL where len is 0.
 */
typedef uint32_t (*crc32c_fn)(uint32_t crc, const void *data, size_t len);

enum crc32c_kind {
    CRC32C_PORTABLE, /* tables, eight bytes a step */
    CRC32C_SSE42,    /* the crc32 instruction, and folding by PCLMULQDQ from 128 bytes on */
    CRC32C_AVX512,   /* folding by VPCLMULQDQ on 512-bit registers from 256 bytes on */
    CRC32C_KINDS
};

/* NULL where this CPU, or this build, cannot. CRC32C_PORTABLE is always there. */
crc32c_fn crc32c_get(enum crc32c_kind kind);

/* The fastest that this CPU has. */
crc32c_fn crc32c_select(void);

/* The CRC of a followed by b, from crc_a, crc_b and b's length, without the bytes. O(log len_b). */
uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b);

#endif
