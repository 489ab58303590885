/* SPDX-License-Identifier: BSD-3-Clause */
#include "app/mailbox.h"

#include <rte_ring.h>

#include "support/unit.h"
#include "unit/app/eal.h"

/* No worker runs here: the test is both ends, so nothing depends on time. */
static struct mailbox box;
static unsigned runs, releases;
static struct worker *seen;

struct letter {
    struct mail mail;
    bool done;
};

static void run(struct worker *w, struct mail *m)
{
    runs++;
    seen = w;
    ((struct letter *)m)->done = true;
}

static void release(struct mail *m)
{
    (void)m;
    releases++;
}

static struct letter letter(void)
{
    return (struct letter){.mail = {.run = run, .release = release}};
}

static void setup(void)
{
    start_eal();
    ck_assert(mailbox_create(&box, 0, SOCKET_ID_ANY));
}

static void teardown(void)
{
    mailbox_destroy(&box);
    rte_eal_cleanup();
}

START_TEST(a_letter_goes_and_comes_back)
{
    struct letter l = letter();
    struct worker *w = (struct worker *)&l;
    ck_assert(mailbox_post(&box, &l.mail));
    ck_assert_uint_eq(box.posted, 1);
    ck_assert_uint_eq(mailbox_run(&box, w), 1);
    ck_assert_int_eq(mailbox_wait(&box, &l.mail, 0), MAIL_BACK);
    ck_assert(l.done);
    ck_assert_ptr_eq(seen, w);
    ck_assert_uint_eq(box.posted, 0);
    ck_assert_uint_eq(releases, 0);
    ck_assert_uint_eq(mailbox_run(&box, w), 0);
}
END_TEST

START_TEST(a_letter_given_up_on_is_not_run)
{
    struct letter l = letter();
    ck_assert(mailbox_post(&box, &l.mail));
    ck_assert_int_eq(mailbox_wait(&box, &l.mail, 0), MAIL_REVOKED);
    mailbox_collect(&box);
    ck_assert_uint_eq(releases, 0);
    ck_assert_uint_eq(mailbox_run(&box, NULL), 0);
    mailbox_collect(&box);
    ck_assert_uint_eq(runs, 0);
    ck_assert_uint_eq(releases, 1);
    ck_assert_uint_eq(box.posted, 0);
}
END_TEST

/* The control thread gives up while the worker is at it. */
static void run_slowly(struct worker *w, struct mail *m)
{
    ck_assert_int_eq(mailbox_wait(&box, m, 0), MAIL_LATE);
    run(w, m);
}

START_TEST(a_letter_given_up_on_too_late_is_released)
{
    struct letter l = letter();
    l.mail.run = run_slowly;
    ck_assert(mailbox_post(&box, &l.mail));
    ck_assert_uint_eq(mailbox_run(&box, NULL), 1);
    ck_assert_uint_eq(releases, 0);
    mailbox_collect(&box);
    ck_assert_uint_eq(runs, 1);
    ck_assert_uint_eq(releases, 1);
}
END_TEST

START_TEST(a_firm_letter_is_run_however_late)
{
    struct letter l = letter();
    l.mail.firm = true;
    ck_assert(mailbox_post(&box, &l.mail));
    ck_assert_int_eq(mailbox_wait(&box, &l.mail, 0), MAIL_LATE);
    ck_assert_uint_eq(mailbox_run(&box, NULL), 1);
    mailbox_collect(&box);
    ck_assert(l.done);
    ck_assert_uint_eq(releases, 1);
}
END_TEST

/* A box that questions have filled still takes what undoes something. */
START_TEST(firm_letters_have_room_of_their_own)
{
    static struct letter l[100], firm[MAILBOX_FIRM + 1];
    unsigned n = 0, f = 0;
    for (; n < 100; n++) {
        l[n] = letter();
        if (!mailbox_post(&box, &l[n].mail))
            break;
        ck_assert_int_eq(mailbox_wait(&box, &l[n].mail, 0), MAIL_REVOKED);
    }
    for (; f < MAILBOX_FIRM + 1; f++) {
        firm[f] = letter();
        firm[f].mail.firm = true;
        if (!mailbox_post(&box, &firm[f].mail))
            break;
        mailbox_forget(&firm[f].mail);
    }
    ck_assert_uint_eq(f, MAILBOX_FIRM);
    ck_assert_uint_eq(mailbox_run(&box, NULL), MAILBOX_FIRM);
    mailbox_collect(&box);
    ck_assert_uint_eq(releases, n + MAILBOX_FIRM);
    ck_assert_uint_eq(box.posted, 0);
}
END_TEST

/* What comes back for another wait than the one that looks is kept for it. */
START_TEST(answers_keep_their_letters)
{
    struct letter a = letter(), b = letter();
    ck_assert(mailbox_post(&box, &a.mail));
    ck_assert(mailbox_post(&box, &b.mail));
    ck_assert_uint_eq(mailbox_run(&box, NULL), 2);
    ck_assert_int_eq(mailbox_wait(&box, &b.mail, 0), MAIL_BACK);
    ck_assert_int_eq(mailbox_wait(&box, &a.mail, 0), MAIL_BACK);
}
END_TEST

START_TEST(a_worker_that_stands_still_fills_its_box)
{
    static struct letter l[100];
    unsigned n = 0;
    for (; n < 100; n++) {
        l[n] = letter();
        if (!mailbox_post(&box, &l[n].mail))
            break;
    }
    ck_assert_uint_gt(n, 10);
    ck_assert_uint_lt(n, 100);
    ck_assert_uint_eq(mailbox_run(&box, NULL), n);
    ck_assert_uint_eq(runs, n);
    /* Not collected yet, and still the return ring held them all. */
    ck_assert(mailbox_post(&box, &l[n].mail));
    ck_assert_uint_eq(box.posted, 1);
}
END_TEST

START_TEST(destroying_releases_what_is_left)
{
    struct letter a = letter(), b = letter();
    ck_assert(mailbox_post(&box, &a.mail));
    mailbox_run(&box, NULL);
    ck_assert(mailbox_post(&box, &b.mail));
    mailbox_destroy(&box);
    ck_assert_uint_eq(releases, 1);
    ck_assert_uint_eq(runs, 1);
    ck_assert(mailbox_create(&box, 0, SOCKET_ID_ANY));
}
END_TEST

UNIT_MAIN("mailbox", setup, teardown, a_letter_goes_and_comes_back, a_letter_given_up_on_is_not_run,
          a_letter_given_up_on_too_late_is_released, a_firm_letter_is_run_however_late,
          firm_letters_have_room_of_their_own, answers_keep_their_letters,
          a_worker_that_stands_still_fills_its_box, destroying_releases_what_is_left)
