/* SPDX-License-Identifier: BSD-3-Clause */
#include "service/service.h"

#include <string.h>

#include "support/unit.h"

START_TEST(each_is_found_under_its_name)
{
    for (enum service s = 0; s < SERVICE_END; s++) {
        ck_assert_str_eq(service_name(s), service_of(s)->name);
        ck_assert_uint_gt(strlen(service_text(s)), 10);
        ck_assert(service_of(s)->data);
    }
    ck_assert_str_eq(service_name(SERVICE_DISCARD), "discard");
}
END_TEST

UNIT_MAIN("service", NULL, NULL, each_is_found_under_its_name)
