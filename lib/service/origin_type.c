/* SPDX-License-Identifier: BSD-3-Clause */
/* Content types by the ending of a path. Text says its encoding, which is that of nearly all of it
 * today. */
#include "service/origin.h"

#define UTF8 "; charset=utf-8"

/* X(ending, content-type) */
#define TYPES(X)                                  \
    X("html", "text/html" UTF8)                   \
    X("css", "text/css" UTF8)                     \
    X("js", "text/javascript" UTF8)               \
    X("json", "application/json")                 \
    X("png", "image/png")                         \
    X("jpg", "image/jpeg")                        \
    X("svg", "image/svg+xml")                     \
    X("txt", "text/plain" UTF8)                   \
    X("webp", "image/webp")                       \
    X("woff2", "font/woff2")                      \
    X("mjs", "text/javascript" UTF8)              \
    X("htm", "text/html" UTF8)                    \
    X("xhtml", "application/xhtml+xml")           \
    X("map", "application/json")                  \
    X("jsonld", "application/ld+json")            \
    X("geojson", "application/geo+json")          \
    X("webmanifest", "application/manifest+json") \
    X("wasm", "application/wasm")                 \
    X("xml", "text/xml" UTF8)                     \
    X("xsl", "text/xml" UTF8)                     \
    X("rss", "application/rss+xml")               \
    X("atom", "application/atom+xml")             \
    X("jpeg", "image/jpeg")                       \
    X("gif", "image/gif")                         \
    X("avif", "image/avif")                       \
    X("apng", "image/apng")                       \
    X("jxl", "image/jxl")                         \
    X("bmp", "image/bmp")                         \
    X("tif", "image/tiff")                        \
    X("tiff", "image/tiff")                       \
    X("ico", "image/vnd.microsoft.icon")          \
    X("woff", "font/woff")                        \
    X("ttf", "font/ttf")                          \
    X("otf", "font/otf")                          \
    X("eot", "application/vnd.ms-fontobject")     \
    X("md", "text/markdown" UTF8)                 \
    X("csv", "text/csv" UTF8)                     \
    X("tsv", "text/tab-separated-values" UTF8)    \
    X("log", "text/plain" UTF8)                   \
    X("vtt", "text/vtt" UTF8)                     \
    X("ics", "text/calendar" UTF8)                \
    X("vcf", "text/vcard" UTF8)                   \
    X("yaml", "application/yaml")                 \
    X("yml", "application/yaml")                  \
    X("toml", "application/toml")                 \
    X("mp4", "video/mp4")                         \
    X("m4v", "video/mp4")                         \
    X("webm", "video/webm")                       \
    X("ogv", "video/ogg")                         \
    X("mov", "video/quicktime")                   \
    X("mpeg", "video/mpeg")                       \
    X("ts", "video/mp2t")                         \
    X("m3u8", "application/vnd.apple.mpegurl")    \
    X("mpd", "application/dash+xml")              \
    X("mp3", "audio/mpeg")                        \
    X("m4a", "audio/mp4")                         \
    X("aac", "audio/aac")                         \
    X("ogg", "audio/ogg")                         \
    X("oga", "audio/ogg")                         \
    X("opus", "audio/ogg")                        \
    X("flac", "audio/flac")                       \
    X("wav", "audio/wav")                         \
    X("pdf", "application/pdf")                   \
    X("zip", "application/zip")                   \
    X("gz", "application/gzip")                   \
    X("bz2", "application/x-bzip2")               \
    X("xz", "application/x-xz")                   \
    X("zst", "application/zstd")                  \
    X("tar", "application/x-tar")                 \
    X("7z", "application/x-7z-compressed")        \
    X("epub", "application/epub+zip")             \
    X("rtf", "application/rtf")                   \
    X("crt", "application/x-x509-ca-cert")        \
    X("der", "application/x-x509-ca-cert")        \
    X("crl", "application/pkix-crl")

static const struct {
    struct http_text ending;
    struct http_text type;
} types[] = {
#define X(ending, type) {{ending, sizeof(ending) - 1}, {type, sizeof(type) - 1}},
    TYPES(X)
#undef X
};

/* What follows the last dot of the last segment. */
static struct http_text ending_of(struct http_text path)
{
    for (uint32_t i = path.n; i > 0 && path.p[i - 1] != '/'; i--)
        if (path.p[i - 1] == '.')
            return (struct http_text){path.p + i, path.n - i};
    return (struct http_text){0};
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* is_lower is, and a need not be. */
static bool same(struct http_text a, struct http_text is_lower)
{
    if (a.n != is_lower.n)
        return false;
    for (uint32_t i = 0; i < a.n; i++)
        if (lower(a.p[i]) != is_lower.p[i])
            return false;
    return true;
}

struct http_text origin_type(struct http_text path)
{
    struct http_text ending = ending_of(path);
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (same(ending, types[i].ending))
            return types[i].type;
    return HTTP_TEXT("application/octet-stream");
}
