/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dates of HTTP (RFC 9110 5.6.7), to and from seconds of the Unix epoch:
 *
 *   Sun, 06 Nov 1994 08:49:37 GMT      IMF-fixdate, the only one written
 *   Sunday, 06-Nov-94 08:49:37 GMT     RFC 850
 *   Sun Nov  6 08:49:37 1994           asctime
 *
 * Years are counted from March, so that the leap day is a year's last.
 */
#include "stream/http.h"

#define SECONDS_A_DAY UINT64_C(86400)
#define LAST          UINT64_C(253402300799) /* of the year 9999 */

static const char day_name[7][10] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                     "Thursday", "Friday", "Saturday"};
static const char month_name[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct date {
    uint32_t year;
    uint32_t month; /* 0: January */
    uint32_t day;   /* 1..31 */
    uint32_t hour;
    uint32_t minute;
    uint32_t second;
};

/* ---- the calendar ---- */

#define DAYS_4_YEARS   1461u
#define DAYS_100_YEARS 36524u
#define DAYS_400_YEARS 146097u
#define DAYS_TO_1970   719468u /* from the first of March of the year 0 */

/* Days from the first of March to the first of the month-th month from March on. */
static uint32_t days_before(uint32_t month)
{
    return (month * 153 + 2) / 5;
}

/* Days from 1970 to the date. */
static uint64_t day_of(const struct date *d)
{
    uint32_t year = d->month < 2 ? d->year - 1 : d->year;
    uint32_t month = (d->month + 10) % 12;
    uint32_t days = year * 365 + year / 4 - year / 100 + year / 400;
    return (uint64_t)days + days_before(month) + d->day - 1 - DAYS_TO_1970;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void date_of_day(struct date *d, uint32_t day)
{
    day += DAYS_TO_1970;
    uint32_t year = day / DAYS_400_YEARS * 400;
    day %= DAYS_400_YEARS;
    uint32_t n = min_u32(day / DAYS_100_YEARS, 3); /* the fourth hundred is a day longer */
    year += n * 100;
    day -= n * DAYS_100_YEARS;
    year += day / DAYS_4_YEARS * 4;
    day %= DAYS_4_YEARS;
    n = min_u32(day / 365, 3);
    year += n;
    day -= n * 365;
    uint32_t month = (day * 5 + 2) / 153;
    d->day = day - days_before(month) + 1;
    d->month = (month + 2) % 12;
    d->year = d->month < 2 ? year + 1 : year;
}

static bool is_leap(uint32_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static bool is_real(const struct date *d)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint32_t last = days[d->month] + (d->month == 1 && is_leap(d->year) ? 1u : 0u);
    return d->year >= 1970 && d->day >= 1 && d->day <= last && d->hour < 24 && d->minute < 60 &&
           d->second <= 60; /* a leap second */
}

/* ---- writing ---- */

static void put_digits(char *at, uint32_t v, unsigned n)
{
    while (n-- > 0) {
        at[n] = (char)('0' + v % 10);
        v /= 10;
    }
}

void http_date_write(char out[HTTP_DATE_SIZE], uint64_t second)
{
    if (second > LAST)
        second = LAST;
    uint32_t day = (uint32_t)(second / SECONDS_A_DAY);
    uint32_t of_day = (uint32_t)(second % SECONDS_A_DAY);
    struct date d;
    date_of_day(&d, day);
    memcpy(out, "Sun, 06 Nov 1994 08:49:37 GMT", HTTP_DATE_SIZE);
    memcpy(out, day_name[(day + 4) % 7], 3); /* 1970 began with a Thursday */
    put_digits(out + 5, d.day, 2);
    memcpy(out + 8, month_name[d.month], 3);
    put_digits(out + 12, d.year, 4);
    put_digits(out + 17, of_day / 3600, 2);
    put_digits(out + 20, of_day / 60 % 60, 2);
    put_digits(out + 23, of_day % 60, 2);
}

struct http_text http_date(struct http_env *env)
{
    if (env->wall == 0)
        return (struct http_text){0};
    uint64_t second = ((uint64_t)env->wall + env->now) / TICK_SEC;
    if (second != env->date_second || !env->date[0]) {
        http_date_write(env->date, second);
        env->date_second = second;
    }
    return (struct http_text){env->date, HTTP_DATE_SIZE - 1};
}

/* ---- reading ---- */

/* What is left to be read; p is NULL where something else was there than was asked for. */
struct rest {
    const char *p;
    uint32_t n;
};

static void skip(struct rest *r, uint32_t n)
{
    r->p += n;
    r->n -= n;
}

static bool begins(const struct rest *r, const char *text, uint32_t n)
{
    return r->p && r->n >= n && memcmp(r->p, text, n) == 0;
}

static void expect(struct rest *r, const char *text)
{
    uint32_t n = (uint32_t)strlen(text);
    if (begins(r, text, n))
        skip(r, n);
    else
        r->p = NULL;
}

static uint32_t digits(struct rest *r, uint32_t n)
{
    uint32_t v = 0;
    if (r->p && r->n < n)
        r->p = NULL;
    for (; r->p && n > 0; n--) {
        if (*r->p < '0' || *r->p > '9') {
            r->p = NULL;
            break;
        }
        v = v * 10 + (uint32_t)(*r->p - '0');
        skip(r, 1);
    }
    return v;
}

/* A day's name, long or short. Whether it is that of the date nobody asks. */
static void expect_day(struct rest *r, bool in_full)
{
    for (unsigned i = 0; i < 7; i++) {
        uint32_t n = in_full ? (uint32_t)strlen(day_name[i]) : 3;
        if (begins(r, day_name[i], n)) {
            skip(r, n);
            return;
        }
    }
    r->p = NULL;
}

static uint32_t month(struct rest *r)
{
    for (uint32_t i = 0; i < 12; i++)
        if (begins(r, month_name[i], 3)) {
            skip(r, 3);
            return i;
        }
    r->p = NULL;
    return 0;
}

static void read_time(struct rest *r, struct date *d)
{
    d->hour = digits(r, 2);
    expect(r, ":");
    d->minute = digits(r, 2);
    expect(r, ":");
    d->second = digits(r, 2);
}

static void read_imf(struct rest *r, struct date *d)
{
    expect_day(r, false);
    expect(r, ", ");
    d->day = digits(r, 2);
    expect(r, " ");
    d->month = month(r);
    expect(r, " ");
    d->year = digits(r, 4);
    expect(r, " ");
    read_time(r, d);
    expect(r, " GMT");
}

/* A year that appears to be more than 50 years from now is the last one before with these digits
 * (RFC 9110 5.6.7). */
static uint32_t year_of_two(uint32_t two, uint64_t now)
{
    struct date d;
    date_of_day(&d, (uint32_t)((now < LAST ? now : LAST) / SECONDS_A_DAY));
    uint32_t year = d.year / 100 * 100 + two;
    return year > d.year + 50 ? year - 100 : year;
}

static void read_850(struct rest *r, struct date *d, uint64_t now)
{
    expect_day(r, true);
    expect(r, ", ");
    d->day = digits(r, 2);
    expect(r, "-");
    d->month = month(r);
    expect(r, "-");
    d->year = year_of_two(digits(r, 2), now);
    expect(r, " ");
    read_time(r, d);
    expect(r, " GMT");
}

static void read_asctime(struct rest *r, struct date *d)
{
    expect_day(r, false);
    expect(r, " ");
    d->month = month(r);
    expect(r, " ");
    if (begins(r, " ", 1)) {
        skip(r, 1);
        d->day = digits(r, 1);
    } else {
        d->day = digits(r, 2);
    }
    expect(r, " ");
    read_time(r, d);
    expect(r, " ");
    d->year = digits(r, 4);
}

bool http_date_read(struct http_text value, uint64_t now, uint64_t *second)
{
    if (value.n < 4)
        return false;
    struct rest r = {value.p, value.n};
    struct date d = {0};
    if (value.p[3] == ',')
        read_imf(&r, &d);
    else if (value.p[3] == ' ')
        read_asctime(&r, &d);
    else
        read_850(&r, &d, now);
    if (!r.p || r.n > 0 || !is_real(&d))
        return false;
    *second = day_of(&d) * SECONDS_A_DAY + d.hour * 3600 + d.minute * 60 + d.second;
    return true;
}
