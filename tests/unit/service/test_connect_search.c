/* SPDX-License-Identifier: BSD-3-Clause */
#include "support/unit.h"

#define need(ok) ck_assert(ok)
#include "tunnels.h"

#define MS TICK_MS

static struct party *client;
static tick_t began;

static void ask(void)
{
    client = tn_client("name.example:443");
    began = tn.env.now;
    ck_assert_uint_eq(tn.n_asked, 2);
}

static void setup(void)
{
    tn_start(&(struct proxy_options){.realm = NULL});
    ask();
}

static void teardown(void)
{
    tn_stop();
}

static void restart(const struct proxy_options *o)
{
    tn_stop();
    tn_start(o);
}

static unsigned dials(void)
{
    return tn.n_parties - 1;
}

static bool dialled(unsigned i, struct ip_addr to)
{
    return ip_eq(&tn.party[1 + i].to, &to);
}

static void refused_as(enum tunnel_end why, unsigned status, const char *error)
{
    char field[200];
    snprintf(field, sizeof(field), "proxy-status: \"mill\"; error=%s\n", error);
    ck_assert_uint_eq(client->status, status);
    ck_assert(client->head_ends);
    ck_assert_str_eq(client->field, field);
    ck_assert_uint_eq(tn.last.r.end, why);
    ck_assert_uint_eq(tn.last.r.status, status);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
}

START_TEST(asks_for_both_families_at_once)
{
    ck_assert(tn.asked[0].v6 && !tn.asked[1].v6);
    ck_assert_str_eq(tn.asked[0].name, "name.example");
    ck_assert(ip_eq(&tn.asked[0].client, &tn.peer.addr));
    ck_assert_uint_eq(tn.asked[0].id, tn.asked[1].id);
}
END_TEST

/* RFC 8305 3 */
START_TEST(an_answer_of_ipv6_is_dialled_at_once)
{
    tn_answers(true, 1);
    ck_assert_uint_eq(dials(), 1);
    ck_assert(dialled(0, tn_v6(1)));
}
END_TEST

START_TEST(an_answer_of_ipv4_waits_for_the_other)
{
    tn_later(10 * MS);
    tn_answers(false, 1);
    ck_assert_uint_eq(dials(), 0);
    tn_until(began + 60 * MS - 1);
    ck_assert_uint_eq(dials(), 0);
    tn_until(began + 60 * MS);
    ck_assert_uint_eq(dials(), 1);
    ck_assert(dialled(0, tn_v4(1)));
}
END_TEST

START_TEST(ipv6_within_the_delay_comes_first)
{
    tn_answers(false, 1);
    tn_later(20 * MS);
    tn_answers(true, 1);
    ck_assert_uint_eq(dials(), 1);
    ck_assert(dialled(0, tn_v6(1)));
    tn_later(250 * MS - 1);
    ck_assert_uint_eq(dials(), 1);
    tn_later(1);
    ck_assert(dialled(1, tn_v4(1)));
}
END_TEST

START_TEST(no_ipv6_ends_the_delay)
{
    static const enum connect_outcome no[] = {CONNECT_NO_NAME, CONNECT_DNS_ERROR,
                                              CONNECT_DNS_TIMEOUT, CONNECT_BUSY};
    for (unsigned i = 0; i < 4; i++) {
        restart(&(struct proxy_options){.realm = NULL});
        ask();
        tn_answers(false, 1);
        tn_later(5 * MS);
        ck_assert_uint_eq(dials(), 0);
        tn_answers_no(true, no[i]);
        ck_assert_uint_eq(dials(), 1);
        ck_assert(dialled(0, tn_v4(1)));
    }
}
END_TEST

START_TEST(ipv6_after_the_delay_is_next)
{
    tn_answers(false, 2);
    tn_later(50 * MS);
    ck_assert(dialled(0, tn_v4(1)));
    tn_later(10 * MS);
    tn_answers(true, 1);
    ck_assert_uint_eq(dials(), 1);
    tn_until(began + 300 * MS);
    ck_assert_uint_eq(dials(), 2);
    ck_assert(dialled(1, tn_v6(1)));
    tn_until(began + 550 * MS);
    ck_assert(dialled(2, tn_v4(2)));
}
END_TEST

/* RFC 8305 4, 5 */
START_TEST(families_take_turns)
{
    tn_answers(true, 3);
    tn_answers(false, 2);
    for (unsigned i = 1; i < 5; i++) {
        tn_later(250 * MS - 1);
        ck_assert_uint_eq(dials(), i);
        tn_later(1);
        ck_assert_uint_eq(dials(), i + 1);
    }
    ck_assert(dialled(0, tn_v6(1)) && dialled(1, tn_v4(1)) && dialled(2, tn_v6(2)));
    ck_assert(dialled(3, tn_v4(2)) && dialled(4, tn_v6(3)));
    tn_later(TICK_SEC);
    ck_assert_uint_eq(dials(), 5);
}
END_TEST

START_TEST(a_failure_makes_the_next_due_at_once)
{
    tn_answers(true, 2);
    tn_answers(false, 2);
    tn_later(100 * MS);
    party_fails(&tn.party[1], STREAM_REFUSED);
    ck_assert_uint_eq(dials(), 2);
    ck_assert(dialled(1, tn_v4(1)));
    tn_later(250 * MS - 1);
    ck_assert_uint_eq(dials(), 2);
    tn_later(1);
    ck_assert_uint_eq(dials(), 3);
    party_fails(&tn.party[2], STREAM_REFUSED); /* with another under way */
    ck_assert_uint_eq(dials(), 4);
}
END_TEST

START_TEST(the_first_to_open_wins)
{
    tn_answers(true, 2);
    tn_answers(false, 1);
    tn_later(250 * MS);
    tn_later(250 * MS);
    ck_assert_uint_eq(dials(), 3);
    party_opens(&tn.party[2]);
    ck_assert_uint_eq(client->status, 200);
    ck_assert_uint_eq(tn.party[1].aborted, 1);
    ck_assert_uint_eq(tn.party[2].aborted, 0);
    ck_assert_uint_eq(tn.party[3].aborted, 1);
    party_sends(client, "for the winner");
    ck_assert_uint_eq(party_queued(&tn.party[2]), 14);
    party_fails(client, STREAM_RESET);
    struct ip_addr to = tn_v4(1);
    ck_assert(ip_eq(&tn.last.r.target, &to));
    ck_assert_uint_eq(tn.last.r.connected, 500 * MS);
}
END_TEST

START_TEST(two_may_open_in_one_turn)
{
    tn_answers(true, 1);
    tn_answers(false, 1);
    tn_later(250 * MS);
    stream_opened(&tn.party[2].http.stream);
    stream_opened(&tn.party[1].http.stream);
    tn_run();
    ck_assert_uint_eq(client->responses, 1);
    ck_assert_uint_eq(tn.party[1].aborted, 1);
    ck_assert_uint_eq(tn.party[2].aborted, 0);
}
END_TEST

START_TEST(answers_that_come_late_are_nothing)
{
    tn_answers(true, 1);
    party_opens(&tn.party[1]);
    tn_answers(false, 3);
    tn_answers(true, 3);
    tn_later(TICK_SEC);
    ck_assert_uint_eq(dials(), 1);
    party_fails(client, STREAM_RESET);
    tn_answers(false, 3);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
    ck_assert_uint_eq(dials(), 1);
}
END_TEST

START_TEST(an_answer_counts_once)
{
    tn_answers(true, 1);
    tn_answers(true, 8);
    tn_later(TICK_SEC);
    ck_assert_uint_eq(dials(), 1);
}
END_TEST

START_TEST(an_answer_when_the_client_has_gone_is_nothing)
{
    party_fails(client, STREAM_RESET);
    ck_assert_uint_eq(tn.last.r.end, TUNNEL_CLIENT_RESET);
    ck_assert_uint_eq(tn.last.r.state, TUNNEL_STATE_RESOLVING);
    tn_answers(true, 8);
    ck_assert_uint_eq(dials(), 0);
}
END_TEST

START_TEST(a_client_that_goes_resets_all_that_is_under_way)
{
    tn_answers(true, 2);
    tn_later(250 * MS);
    party_fails(client, STREAM_RESET);
    ck_assert_uint_eq(tn.party[1].aborted, 1);
    ck_assert_uint_eq(tn.party[2].aborted, 1);
    ck_assert_uint_eq(connect_tunnels(tn.connect), 0);
}
END_TEST

START_TEST(all_that_there_can_be_are_tried)
{
    tn_answers(true, CONNECT_ADDRS_MAX);
    tn_answers(false, CONNECT_ADDRS_MAX);
    tn_later(16 * 250 * MS);
    ck_assert_uint_eq(dials(), 16);
    for (unsigned i = 1; i <= 16; i++) {
        ck_assert_uint_eq(client->responses, 0);
        party_fails(&tn.party[i], STREAM_REFUSED);
    }
    refused_as(TUNNEL_REFUSED, 502, "connection_refused");
}
END_TEST

START_TEST(with_none_left_it_is_said_why)
{
    static const struct {
        enum stream_code code;
        uint8_t why;
        uint16_t status;
        const char *error;
    } c[] = {{STREAM_RESET, TUNNEL_REFUSED, 502, "connection_refused"},
             {STREAM_REFUSED, TUNNEL_REFUSED, 502, "connection_refused"},
             {STREAM_UNREACHABLE, TUNNEL_UNREACHABLE, 502, "destination_ip_unroutable"},
             {STREAM_TIMEOUT, TUNNEL_CONNECT_TIMEOUT, 504, "connection_timeout"},
             {STREAM_KILLED, TUNNEL_TARGET_RESET, 502, "connection_terminated"},
             {STREAM_NO_MEMORY, TUNNEL_NO_MEMORY, 503, "proxy_internal_error"}};
    for (unsigned i = 0; i < 6; i++) {
        restart(&(struct proxy_options){.realm = NULL});
        ask();
        tn_answers(true, 1);
        tn_answers_no(false, CONNECT_NO_NAME);
        party_fails(&tn.party[1], c[i].code);
        refused_as(c[i].why, c[i].status, c[i].error);
    }
}
END_TEST

START_TEST(without_addresses_it_is_said_why)
{
    static const struct {
        enum connect_outcome o;
        uint8_t why;
        uint16_t status;
        const char *error;
    } c[] = {{CONNECT_NO_NAME, TUNNEL_NO_NAME, 502, "dns_error"},
             {CONNECT_OK, TUNNEL_NO_NAME, 502, "dns_error"},
             {CONNECT_DNS_ERROR, TUNNEL_DNS_ERROR, 502, "dns_error"},
             {CONNECT_DNS_TIMEOUT, TUNNEL_DNS_TIMEOUT, 504, "dns_timeout"},
             {CONNECT_BUSY, TUNNEL_LIMIT, 503, "connection_limit_reached"}};
    for (unsigned i = 0; i < 5; i++) {
        restart(&(struct proxy_options){.realm = NULL});
        ask();
        tn_answers_no(i & 1, CONNECT_NO_NAME);
        ck_assert_uint_eq(client->responses, 0);
        tn_answers_no(!(i & 1), c[i].o);
        refused_as(c[i].why, c[i].status, c[i].error);
    }
}
END_TEST

START_TEST(the_reason_that_says_most_is_given)
{
    tn_answers(true, 2);
    tn_answers_no(false, CONNECT_DNS_TIMEOUT);
    party_fails(&tn.party[1], STREAM_REFUSED);
    party_fails(&tn.party[2], STREAM_UNREACHABLE);
    refused_as(TUNNEL_REFUSED, 502, "connection_refused");
}
END_TEST

START_TEST(a_question_for_which_there_is_no_room)
{
    party_fails(client, STREAM_RESET);
    tn.busy = true;
    client = tn_client("other.example:443");
    refused_as(TUNNEL_LIMIT, 503, "connection_limit_reached");
}
END_TEST

START_TEST(a_dial_that_fails_at_once)
{
    tn.no_dial = STREAM_UNREACHABLE;
    tn_answers(true, 8);
    ck_assert_uint_eq(client->responses, 0); /* the other answer is to come */
    tn.no_dial = STREAM_NO_MEMORY;
    tn_answers(false, 8);
    refused_as(TUNNEL_UNREACHABLE, 502, "destination_ip_unroutable");
    ck_assert_uint_eq(dials(), 0);
    client = tn_client("11.0.0.9:443"); /* within its head */
    refused_as(TUNNEL_LIMIT, 503, "connection_limit_reached");
}
END_TEST

START_TEST(one_failing_at_once_the_next_is_dialled)
{
    tn.no_dial = STREAM_UNREACHABLE;
    tn_answers(true, 8);
    tn.no_dial = STREAM_OK;
    tn_answers(false, 2);
    ck_assert_uint_eq(dials(), 1);
    ck_assert(dialled(0, tn_v4(1)));
}
END_TEST

START_TEST(without_ipv6_only_ipv4_is_asked_for)
{
    party_fails(client, STREAM_RESET);
    tn.no_v6 = true;
    tn.n_asked = 0;
    client = tn_client("other.example:443");
    ck_assert_uint_eq(tn.n_asked, 1);
    ck_assert(!tn.asked[0].v6);
    tn_answers(false, 1); /* and nothing is waited for */
    struct ip_addr to = tn_v4(1);
    ck_assert(ip_eq(&tn_newest()->to, &to));
    party_fails(client, STREAM_RESET);
    tn.no_v4 = true;
    client = tn_client("third.example:443");
    refused_as(TUNNEL_NO_NAME, 502, "dns_error");
}
END_TEST

/* Denied by a rule, and by a group that no rule opens. */
START_TEST(addresses_that_are_not_allowed_are_passed_over)
{
    struct ip_prefix first = {.addr = tn_v4(1), .len = 32};
    struct proxy_rule rule[] = {{.allow = false, .prefix = &first, .n_prefixes = 1},
                                {.allow = true}};
    restart(&(struct proxy_options){.rule = rule, .n_rules = 2});
    ask();
    tn.own = tn_v4(2);
    tn_answers_no(true, CONNECT_NO_NAME);
    tn_answers(false, 3);
    ck_assert_uint_eq(dials(), 1);
    ck_assert(dialled(0, tn_v4(3)));
    party_fails(&tn.party[1], STREAM_UNREACHABLE);
    refused_as(TUNNEL_UNREACHABLE, 502, "destination_ip_unroutable");
    tn.n_asked = 0;
    client = tn_client("name.example:443");
    tn_answers_no(true, CONNECT_NO_NAME);
    tn_answers(false, 2);
    refused_as(TUNNEL_PROHIBITED, 403, "destination_ip_prohibited");
    tn.n_asked = 0;
    client = tn_client("name.example:443");
    tn_answers_no(true, CONNECT_DNS_TIMEOUT);
    tn_answers(false, 1);
    refused_as(TUNNEL_DENIED, 403, "http_request_denied");
}
END_TEST

/* NAT64, 6to4 */
START_TEST(own_addresses_are_own_in_each_form)
{
    party_fails(client, STREAM_RESET);
    tn.own = tn_v4(5); /* 11.0.1.5 */
    client = tn_client("[64:ff9b::b00:105]:443");
    refused_as(TUNNEL_PROHIBITED, 403, "destination_ip_prohibited");
    client = tn_client("[2002:b00:105::1]:443");
    refused_as(TUNNEL_PROHIBITED, 403, "destination_ip_prohibited");
    client = tn_client("[64:ff9b::b00:106]:443");
    ck_assert(!party_over(tn_newest()));
}
END_TEST

START_TEST(addresses_need_no_question)
{
    party_fails(client, STREAM_RESET);
    tn.n_asked = 0;
    client = tn_client("[2600::7]:8443");
    struct ip_addr to = tn_v6(7);
    ck_assert_uint_eq(tn.n_asked, 0);
    ck_assert(ip_eq(&tn_newest()->to, &to));
    ck_assert_uint_eq(tn_newest()->port, 8443);
    party_fails(tn_newest(), STREAM_UNREACHABLE);
    refused_as(TUNNEL_UNREACHABLE, 502, "destination_ip_unroutable");
    client = tn_client("127.0.0.1:80");
    refused_as(TUNNEL_PROHIBITED, 403, "destination_ip_prohibited");
}
END_TEST

START_TEST(dials_from_the_pool)
{
    struct ip_addr pool[] = {ip_from_v4(0x0b000201), tn_v6(99)};
    restart(&(struct proxy_options){.egress = pool, .n_egress = 2});
    ask();
    tn_answers(true, 1);
    tn_answers(false, 1);
    tn_later(250 * MS);
    ck_assert(ip_eq(&tn.party[1].local, &pool[1]));
    ck_assert(ip_eq(&tn.party[2].local, &pool[0]));
}
END_TEST

START_TEST(connecting_has_its_time)
{
    tn_answers(true, 1);
    tn_until(began + 10 * TICK_SEC - 1);
    ck_assert_uint_eq(client->responses, 0);
    ck_assert(connect_deadline(tn.connect) == began + 10 * TICK_SEC);
    tn_later(1);
    ck_assert_uint_eq(tn.party[1].aborted, 1);
    refused_as(TUNNEL_CONNECT_TIMEOUT, 504, "connection_timeout");
    ck_assert_uint_eq(tn.last.r.took, 10 * TICK_SEC);
}
END_TEST

START_TEST(resolving_has_its_time)
{
    tn_until(began + 10 * TICK_SEC - 1);
    ck_assert_uint_eq(client->responses, 0);
    tn_later(1);
    refused_as(TUNNEL_DNS_TIMEOUT, 504, "dns_timeout");
}
END_TEST

START_TEST(a_record_says_when)
{
    tn_later(30 * MS);
    tn_answers(true, 1);
    tn_later(70 * MS);
    party_opens(&tn.party[1]);
    tn_later(TICK_SEC);
    connect_kill(tn.connect, tn.asked[0].id, tn.env.now);
    ck_assert_uint_eq(tn.last.r.began, began);
    ck_assert_uint_eq(tn.last.r.resolved, 30 * MS);
    ck_assert_uint_eq(tn.last.r.connected, 100 * MS);
    ck_assert_uint_eq(tn.last.r.took, 1100 * MS);
    ck_assert_uint_eq(tn.last.r.port, 443);
    ck_assert_str_eq(tn.last.authority, "name.example:443");
    ck_assert_str_eq(tn.last.r.proxy, "mill");
}
END_TEST

UNIT_MAIN("connect_search", setup, teardown, asks_for_both_families_at_once,
          an_answer_of_ipv6_is_dialled_at_once, an_answer_of_ipv4_waits_for_the_other,
          ipv6_within_the_delay_comes_first, no_ipv6_ends_the_delay, ipv6_after_the_delay_is_next,
          families_take_turns, a_failure_makes_the_next_due_at_once, the_first_to_open_wins,
          two_may_open_in_one_turn, answers_that_come_late_are_nothing, an_answer_counts_once,
          an_answer_when_the_client_has_gone_is_nothing,
          a_client_that_goes_resets_all_that_is_under_way, all_that_there_can_be_are_tried,
          with_none_left_it_is_said_why, without_addresses_it_is_said_why,
          the_reason_that_says_most_is_given, a_question_for_which_there_is_no_room,
          a_dial_that_fails_at_once, one_failing_at_once_the_next_is_dialled,
          without_ipv6_only_ipv4_is_asked_for, addresses_that_are_not_allowed_are_passed_over,
          own_addresses_are_own_in_each_form, addresses_need_no_question, dials_from_the_pool,
          connecting_has_its_time, resolving_has_its_time, a_record_says_when)
