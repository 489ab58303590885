/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/table.h"

#include <string.h>

#include "support/unit.h"

static const char *count(double n)
{
    static char cell[TABLE_CELL];
    return table_count(cell, n);
}

static const char *bytes(double n)
{
    static char cell[TABLE_CELL];
    return table_bytes(cell, n);
}

static const char *seconds(double s)
{
    static char cell[TABLE_CELL];
    return table_seconds(cell, s);
}

START_TEST(counts_are_short)
{
    ck_assert_str_eq(count(0), "0");
    ck_assert_str_eq(count(7), "7");
    ck_assert_str_eq(count(0.5), "0.5");
    ck_assert_str_eq(count(999), "999");
    ck_assert_str_eq(count(999.4), "999");
    ck_assert_str_eq(count(1000), "1.0k");
    ck_assert_str_eq(count(12345), "12.3k");
    ck_assert_str_eq(count(99949), "99.9k");
    ck_assert_str_eq(count(99950), "100k");
    ck_assert_str_eq(count(999499), "999k");
    ck_assert_str_eq(count(999500), "1.0M");
    ck_assert_str_eq(count(18446744073709551615.0), "18.4E");
    ck_assert_uint_le(strlen(count(1e30)), TABLE_CELL - 1);
}
END_TEST

START_TEST(bytes_have_a_unit)
{
    ck_assert_str_eq(bytes(0), "0 B");
    ck_assert_str_eq(bytes(1023), "1023 B");
    ck_assert_str_eq(bytes(1024), "1.0 KiB");
    ck_assert_str_eq(bytes(100u << 20), "100 MiB");
    ck_assert_str_eq(bytes(1.5 * (1u << 30)), "1.5 GiB");
}
END_TEST

START_TEST(times_have_two_units_at_most)
{
    ck_assert_str_eq(seconds(-1), "0ms");
    ck_assert_str_eq(seconds(0.0421), "42ms");
    ck_assert_str_eq(seconds(0.9996), "1s");
    ck_assert_str_eq(seconds(59.4), "59s");
    ck_assert_str_eq(seconds(59.6), "1m0s");
    ck_assert_str_eq(seconds(200), "3m20s");
    ck_assert_str_eq(seconds(3600 * 5 + 720), "5h12m");
    ck_assert_str_eq(seconds(86400 * 3 + 3600 * 4), "3d4h");
}
END_TEST

static char *printed_in(struct table *t, int room)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    table_print(t, out, room);
    fclose(out);
    return text;
}

static char *printed(struct table *t)
{
    return printed_in(t, 0);
}

START_TEST(columns_are_as_wide_as_their_widest_cell)
{
    struct table *t = table_new("NAME >N LAST");
    ck_assert_uint_eq(table_rows(t), 0);
    table_cell(t, "a");
    table_cell(t, "%d", 12345);
    table_cell(t, "x");
    table_cell(t, "länger");
    table_cell(t, "%d", 1);
    table_cell(t, "yy");
    ck_assert_uint_eq(table_rows(t), 2);
    char *text = printed(t);
    ck_assert_str_eq(text, "NAME        N  LAST\n"
                           "a       12345  x\n"
                           "länger      1  yy\n");
    free(text);
}
END_TEST

START_TEST(long_text_goes_on_below)
{
    struct table *t = table_new("N MEANING");
    table_cell(t, "a");
    table_cell(t, "one two three four");
    char *text = printed_in(t, 14);
    ck_assert_str_eq(text, "N  MEANING\n"
                           "a  one two\n"
                           "   three four\n");
    free(text);
}
END_TEST

START_TEST(a_long_name_has_its_own_line)
{
    struct table *t = table_new("NAME LINK >N");
    table_cell(t, "abcdefghijklmnop");
    table_cell(t, "up");
    table_cell(t, "%d", 7);
    table_cell(t, "b");
    table_cell(t, "down");
    table_cell(t, "%d", 12);
    char *text = printed_in(t, 20);
    ck_assert_str_eq(text, "NAME        LINK   N\n"
                           "abcdefghijklmnop\n"
                           "            up     7\n"
                           "b           down  12\n");
    free(text);
}
END_TEST

START_TEST(a_terminal_is_not_commanded)
{
    struct table *t = table_new("A");
    table_cell(t, "x\x1b[2J\n");
    char *text = printed(t);
    ck_assert_str_eq(text, "A\nx?[2J?\n");
    free(text);
}
END_TEST

START_TEST(without_memory_there_is_no_table)
{
    table_cell(NULL, "x");
    ck_assert_uint_eq(table_rows(NULL), 0);
    table_print(NULL, NULL, 0);
    table_print(table_new("A B"), NULL, 0);
}
END_TEST

UNIT_MAIN("table", NULL, NULL, counts_are_short, bytes_have_a_unit, times_have_two_units_at_most,
          columns_are_as_wide_as_their_widest_cell, long_text_goes_on_below,
          a_long_name_has_its_own_line, a_terminal_is_not_commanded,
          without_memory_there_is_no_table)
