/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/crc32c.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define HAVE_X86 1
#else
#define HAVE_X86 0
#endif

/*
 * Polynomials here have their bits reflected: the most significant bit of a word is the coefficient
 * of x^0, and P, of degree 32, is 0x82f63b78 without its x^32. An unfinished CRC c of bytes M then
 * goes, by n more bits N, to (c * x^n + N * x^32) mod P.
 */
#define POLYNOMIAL UINT32_C(0x82f63b78)

/*
 * table[k][b] is byte b times x^(32 + 8k) mod P, as the sum of the powers that the bits of b stand
 * for. The rows are built from the 64 powers x^32 .. x^95 mod P, most significant bit of the byte
 * first.
 */
#define BYTE(b, x0, x1, x2, x3, x4, x5, x6, x7)                                              \
    (((b)&0x80 ? x0 : 0) ^ ((b)&0x40 ? x1 : 0) ^ ((b)&0x20 ? x2 : 0) ^ ((b)&0x10 ? x3 : 0) ^ \
     ((b)&0x08 ? x4 : 0) ^ ((b)&0x04 ? x5 : 0) ^ ((b)&0x02 ? x6 : 0) ^ ((b)&0x01 ? x7 : 0))
#define BYTES4(b, ...)                                                              \
    BYTE((b), __VA_ARGS__), BYTE((b) + 1, __VA_ARGS__), BYTE((b) + 2, __VA_ARGS__), \
        BYTE((b) + 3, __VA_ARGS__)
#define BYTES16(b, ...)                                                                 \
    BYTES4(b, __VA_ARGS__), BYTES4((b) + 4, __VA_ARGS__), BYTES4((b) + 8, __VA_ARGS__), \
        BYTES4((b) + 12, __VA_ARGS__)
#define BYTES64(b, ...)                                                                      \
    BYTES16(b, __VA_ARGS__), BYTES16((b) + 16, __VA_ARGS__), BYTES16((b) + 32, __VA_ARGS__), \
        BYTES16((b) + 48, __VA_ARGS__)
#define ROW(...)                                                                      \
    {                                                                                 \
        BYTES64(0, __VA_ARGS__), BYTES64(64, __VA_ARGS__), BYTES64(128, __VA_ARGS__), \
            BYTES64(192, __VA_ARGS__)                                                 \
    }

/* clang-format off */
static const uint32_t table[8][256] = {
    ROW(0x82f63b78, 0x417b1dbc, 0x20bd8ede, 0x105ec76f, 0x8ad958cf, 0xc79a971f, 0xe13b70f7, 0xf26b8303),
    ROW(0xfbc3faf9, 0xff17c604, 0x7f8be302, 0x3fc5f181, 0x9d14c3b8, 0x4e8a61dc, 0x274530ee, 0x13a29877),
    ROW(0x8b277743, 0xc76580d9, 0xe144fb14, 0x70a27d8a, 0x38513ec5, 0x9edea41a, 0x4f6f520d, 0xa541927e),
    ROW(0x52a0c93f, 0xaba65fe7, 0xd725148b, 0xe964b13d, 0xf64463e6, 0x7b2231f3, 0xbf672381, 0xdd45aab8),
    ROW(0x6ea2d55c, 0x37516aae, 0x1ba8b557, 0x8f2261d3, 0xc5670b91, 0xe045beb0, 0x7022df58, 0x38116fac),
    ROW(0x1c08b7d6, 0x0e045beb, 0x85f4168d, 0xc00c303e, 0x6006181f, 0xb2f53777, 0xdb8ca0c3, 0xef306b19),
    ROW(0xf56e0ef4, 0x7ab7077a, 0x3d5b83bd, 0x9c5bfaa6, 0x4e2dfd53, 0xa5e0c5d1, 0xd0065990, 0x68032cc8),
    ROW(0x34019664, 0x1a00cb32, 0x0d006599, 0x847609b4, 0x423b04da, 0x211d826d, 0x9278fa4e, 0x493c7d27),
};
/* clang-format on */

static uint64_t load_le64(const uint8_t *p)
{
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* Slicing by eight (Kounavis and Berry, "Novel Table Lookup-Based Algorithms for High-Performance
 * CRC Generation", 2008). */
static uint32_t crc32c_portable(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    crc = ~crc;
    for (; len >= 8; len -= 8, p += 8) {
        uint64_t w = load_le64(p) ^ crc;
        crc = table[7][w & 0xff] ^ table[6][w >> 8 & 0xff] ^ table[5][w >> 16 & 0xff] ^
              table[4][w >> 24 & 0xff] ^ table[3][w >> 32 & 0xff] ^ table[2][w >> 40 & 0xff] ^
              table[1][w >> 48 & 0xff] ^ table[0][w >> 56];
    }
    for (; len > 0; len--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xff];
    return ~crc;
}

#if HAVE_X86

/*
 * Folding (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", 2009): 128
 * bits of message H * x^64 + L that have D bits before the place they are to be added at may go
 * there as H * (x^(D + 64) mod P) + L * (x^D mod P). A reflected carry-less product comes out one
 * bit low and 32-bit constants stand 32 bits high, so the constants are the powers D + 31 and D -
 * 33, that of H first.
 */
#define FOLD_2048 0xdcb17aa4, 0xb9e02b86
#define FOLD_1024 0x6992cea2, 0x0d3b6092
#define FOLD_512  0x740eef02, 0x9e4addf8
#define FOLD_384  0x1c291d04, 0xddc0152b
#define FOLD_256  0x3da6d0cb, 0xba4fc28e
#define FOLD_128  0xf20c0dfe, 0x493c7d27

#define FOLD_FROM_SSE42  128 /* bytes; below, the crc32 instruction alone is faster */
#define FOLD_FROM_AVX512 256
#define BLOCK_MASK       ((size_t)63)

#define TARGET_SSE42  __attribute__((target("sse4.2,pclmul")))
#define TARGET_AVX512 __attribute__((target("sse4.2,pclmul,avx512f,vpclmulqdq")))

/* crc is unfinished (not complemented) here and below. */
TARGET_SSE42 static inline uint32_t crc_by_words(uint32_t crc, const uint8_t *p, size_t len)
{
    uint64_t c = crc;
    for (; len >= 8; len -= 8, p += 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        c = _mm_crc32_u64(c, w);
    }
    crc = (uint32_t)c;
    if (len & 4) {
        uint32_t w;
        memcpy(&w, p, 4);
        crc = _mm_crc32_u32(crc, w);
        p += 4;
    }
    if (len & 2) {
        uint16_t w;
        memcpy(&w, p, 2);
        crc = _mm_crc32_u16(crc, w);
        p += 2;
    }
    return len & 1 ? _mm_crc32_u8(crc, *p) : crc;
}

TARGET_SSE42 static inline __m128i load128(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* The constants of a FOLD_ pair: that of H to the low half, where the earlier bytes are. */
TARGET_SSE42 static inline __m128i pair128(uint32_t h, uint32_t l)
{
    return _mm_set_epi64x(l, h);
}

TARGET_SSE42 static inline __m128i fold128(__m128i x, __m128i k, __m128i onto)
{
    __m128i h = _mm_clmulepi64_si128(x, k, 0x00);
    __m128i l = _mm_clmulepi64_si128(x, k, 0x11);
    return _mm_xor_si128(_mm_xor_si128(h, l), onto);
}

/* 128 bits, already added to what stood before them, to the CRC. */
TARGET_SSE42 static inline uint32_t reduce128(__m128i x)
{
    uint64_t c = _mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(x));
    return (uint32_t)_mm_crc32_u64(c, (uint64_t)_mm_extract_epi64(x, 1));
}

/* Takes whole blocks of 64 bytes, as many as there are; at least one. */
TARGET_SSE42 static inline uint32_t crc_by_folding(uint32_t crc, const uint8_t *p, size_t len)
{
    const __m128i k512 = pair128(FOLD_512);
    const __m128i k128 = pair128(FOLD_128);
    __m128i x0 = _mm_xor_si128(load128(p), _mm_cvtsi32_si128((int)crc));
    __m128i x1 = load128(p + 16);
    __m128i x2 = load128(p + 32);
    __m128i x3 = load128(p + 48);
    size_t at = 64;
    for (; len - at >= 64; at += 64) {
        x0 = fold128(x0, k512, load128(p + at));
        x1 = fold128(x1, k512, load128(p + at + 16));
        x2 = fold128(x2, k512, load128(p + at + 32));
        x3 = fold128(x3, k512, load128(p + at + 48));
    }
    x1 = fold128(x0, k128, x1);
    x2 = fold128(x1, k128, x2);
    return reduce128(fold128(x2, k128, x3));
}

TARGET_SSE42 static uint32_t crc32c_sse42(uint32_t crc, const void *data, size_t len)
{
    const uint8_t *p = data;
    crc = ~crc;
    if (len >= FOLD_FROM_SSE42) {
        crc = crc_by_folding(crc, p, len);
        p += len & ~BLOCK_MASK;
        len &= BLOCK_MASK;
    }
    return ~crc_by_words(crc, p, len);
}

TARGET_AVX512 static inline __m512i load512(const uint8_t *p)
{
    return _mm512_loadu_si512(p);
}

TARGET_AVX512 static inline __m512i pair512(uint32_t h, uint32_t l)
{
    return _mm512_set_epi64(l, h, l, h, l, h, l, h);
}

TARGET_AVX512 static inline __m512i fold512(__m512i x, __m512i k, __m512i onto)
{
    __m512i h = _mm512_clmulepi64_epi128(x, k, 0x00);
    __m512i l = _mm512_clmulepi64_epi128(x, k, 0x11);
    return _mm512_ternarylogic_epi64(h, l, onto, 0x96); /* exclusive or of three */
}

/* The four lanes, the first 384 bits ahead of the last, to the CRC. */
TARGET_AVX512 static inline uint32_t reduce512(__m512i x)
{
    __m128i x3 = _mm512_extracti32x4_epi32(x, 3);
    __m128i x2 = fold128(_mm512_extracti32x4_epi32(x, 2), pair128(FOLD_128), x3);
    __m128i x1 = fold128(_mm512_extracti32x4_epi32(x, 1), pair128(FOLD_256), x2);
    return reduce128(fold128(_mm512_castsi512_si128(x), pair128(FOLD_384), x1));
}

/* The same, four blocks at least. */
TARGET_AVX512 static inline uint32_t crc_by_wide_folding(uint32_t crc, const uint8_t *p, size_t len)
{
    const __m512i k2048 = pair512(FOLD_2048);
    const __m512i k512 = pair512(FOLD_512);
    __m512i before = _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc));
    __m512i x0 = _mm512_xor_si512(load512(p), before);
    __m512i x1 = load512(p + 64);
    __m512i x2 = load512(p + 128);
    __m512i x3 = load512(p + 192);
    size_t at = 256;
    for (; len - at >= 256; at += 256) {
        x0 = fold512(x0, k2048, load512(p + at));
        x1 = fold512(x1, k2048, load512(p + at + 64));
        x2 = fold512(x2, k2048, load512(p + at + 128));
        x3 = fold512(x3, k2048, load512(p + at + 192));
    }
    x1 = fold512(x0, k512, x1);
    x3 = fold512(x2, k512, x3);
    x3 = fold512(x1, pair512(FOLD_1024), x3);
    for (; len - at >= 64; at += 64)
        x3 = fold512(x3, k512, load512(p + at));
    return reduce512(x3);
}

TARGET_AVX512 static uint32_t crc32c_avx512(uint32_t crc, const void *data, size_t len)
{
    if (len < FOLD_FROM_AVX512)
        return crc32c_sse42(crc, data, len);
    const uint8_t *p = data;
    crc = crc_by_wide_folding(~crc, p, len);
    return ~crc_by_words(crc, p + (len & ~BLOCK_MASK), len & BLOCK_MASK);
}

#endif

crc32c_fn crc32c_get(enum crc32c_kind kind)
{
    switch (kind) {
    case CRC32C_PORTABLE: return crc32c_portable;
#if HAVE_X86
    case CRC32C_SSE42:
        return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul") ? crc32c_sse42
                                                                                    : NULL;
    case CRC32C_AVX512:
        return crc32c_get(CRC32C_SSE42) && __builtin_cpu_supports("avx512f") &&
                       __builtin_cpu_supports("vpclmulqdq")
                   ? crc32c_avx512
                   : NULL;
#endif
    default: return NULL;
    }
}

crc32c_fn crc32c_select(void)
{
    for (int kind = CRC32C_KINDS - 1; kind > CRC32C_PORTABLE; kind--) {
        crc32c_fn fn = crc32c_get((enum crc32c_kind)kind);
        if (fn)
            return fn;
    }
    return crc32c_portable;
}

/* a * b mod P. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (uint32_t bit = UINT32_C(1) << 31; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0); /* b * x */
    }
    return product;
}

uint32_t crc32c_combine(uint32_t crc_a, uint32_t crc_b, uint64_t len_b)
{
    /* power: x^8 raised to the value of len_b's lowest bit. The complements cancel out. */
    for (uint32_t power = UINT32_C(1) << (31 - 8); len_b; len_b >>= 1) {
        if (len_b & 1)
            crc_a = multiply(crc_a, power);
        power = multiply(power, power);
    }
    return crc_a ^ crc_b;
}
