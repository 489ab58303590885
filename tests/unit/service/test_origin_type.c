/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/origin.h"
#include "support/unit.h"

#include <string.h>

static void is(const char *path, const char *type)
{
    struct http_text t = origin_type((struct http_text){path, (uint32_t)strlen(path)});
    ck_assert_msg(http_text_eq(t, (struct http_text){type, (uint32_t)strlen(type)}), "%s: %.*s",
                  path, (int)t.n, t.p);
}

START_TEST(by_its_ending)
{
    is("/index.html", "text/html; charset=utf-8");
    is("/a/b.c/style.css", "text/css; charset=utf-8");
    is("/app.min.js", "text/javascript; charset=utf-8");
    is("/data.json", "application/json");
    is("/x.svg", "image/svg+xml");
    is("/x.woff2", "font/woff2");
    is("/x.wasm", "application/wasm");
    is("/x.7z", "application/x-7z-compressed");
}
END_TEST

START_TEST(in_any_case)
{
    is("/PHOTO.JPG", "image/jpeg");
    is("/Photo.JpEg", "image/jpeg");
}
END_TEST

START_TEST(unknown_ones_are_bytes)
{
    static const char *const path[] = {"",      "/",        "/a",        "/a.",    "/a.unknown",
                                       "/html", "/a.html/", "/a.html/b", ".htmlx", "/a.htm l"};
    for (unsigned i = 0; i < sizeof(path) / sizeof(path[0]); i++)
        is(path[i], "application/octet-stream");
    is(".html", "text/html; charset=utf-8");
}
END_TEST

UNIT_MAIN("origin_type", NULL, NULL, by_its_ending, in_any_case, unknown_ones_are_bytes)
