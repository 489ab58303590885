/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MILLRACE_STATS_COUNTER_H
#define MILLRACE_STATS_COUNTER_H

/*
 * One worker's counters: written by that worker only, read by anyone. Values only grow. What is
 * read of one counter is exact; for figures that belong together read the published record
 * (ctl/record.h).
 *
 * X(enumerator, name, meaning)
 */

#include <stdatomic.h>
#include <stdint.h>

#include "stats/drop.h"

#define COUNTERS(X)                                                                               \
    X(TURNS, "turns", "turns of the worker's loop")                                               \
    X(BUSY_CYCLES, "busy_cycles", "TSC cycles of turns that did work")                            \
    X(IDLE_CYCLES, "idle_cycles", "TSC cycles of turns that found none, sleep included")          \
    X(SLEEPS, "sleeps", "times the worker gave up its core")                                      \
    X(RX_PACKETS, "rx_packets", "packets that entered the stack")                                 \
    X(RX_BYTES, "rx_bytes", "bytes of those, from the Ethernet header on")                        \
    X(TX_PACKETS, "tx_packets", "packets that left the stack")                                    \
    X(TX_BYTES, "tx_bytes", "bytes of those, from the Ethernet header on")                        \
    X(WRONG_WORKER, "wrong_worker", "packets received here and handed to their owner")            \
    X(HANDED_IN, "handed_in", "packets and copies received from another worker")                  \
    X(ARP_RX_REQUESTS, "arp_rx_requests", "ARP requests received")                                \
    X(ARP_RX_REPLIES, "arp_rx_replies", "ARP replies received")                                   \
    X(ARP_TX_REQUESTS, "arp_tx_requests", "ARP requests sent")                                    \
    X(ARP_TX_REPLIES, "arp_tx_replies", "ARP replies sent")                                       \
    X(ND_RX_SOLICITS, "nd_rx_solicits", "neighbour solicitations received")                       \
    X(ND_RX_ADVERTS, "nd_rx_adverts", "neighbour advertisements received")                        \
    X(ND_TX_SOLICITS, "nd_tx_solicits", "neighbour solicitations sent")                           \
    X(ND_TX_ADVERTS, "nd_tx_adverts", "neighbour advertisements sent")                            \
    X(DAD_PROBES, "dad_probes", "duplicate address detection probes sent")                        \
    X(DAD_DUPLICATES, "dad_duplicates", "addresses found to be in use by another host")           \
    X(MLD_RX_QUERIES, "mld_rx_queries", "multicast listener queries received")                    \
    X(MLD_TX_REPORTS, "mld_tx_reports", "multicast listener reports sent")                        \
    X(ICMP_RX_ECHO, "icmp_rx_echo", "echo requests received, both families")                      \
    X(ICMP_TX_ECHO, "icmp_tx_echo", "echo replies sent, both families")                           \
    X(ICMP_RX_ERRORS, "icmp_rx_errors", "ICMP errors received about packets of ours")             \
    X(ICMP_TX_ERRORS, "icmp_tx_errors", "ICMP errors sent")                                       \
    X(ICMP_ERRORS_LIMITED, "icmp_errors_limited",                                                 \
      "ICMP errors not sent because of the rate limit")                                           \
    X(FRAG_RX, "frag_rx", "fragments received")                                                   \
    X(FRAG_REASSEMBLED, "frag_reassembled", "datagrams put together from fragments")              \
    X(FRAG_TX, "frag_tx", "fragments sent")                                                       \
    X(PMTU_LOWERED, "pmtu_lowered", "path MTU lowered by a packet too big message")               \
    X(NEIGH_CHANGES, "neigh_changes", "neighbours whose link-layer address changed")              \
    X(TCP_RX_SEGMENTS, "tcp_rx_segments", "TCP segments received, bad ones too")                  \
    X(TCP_RX_BYTES, "tcp_rx_bytes", "bytes of TCP data received in order")                        \
    X(TCP_TX_SEGMENTS, "tcp_tx_segments", "TCP segments sent")                                    \
    X(TCP_TX_BYTES, "tcp_tx_bytes", "bytes of TCP data sent, the first time")                     \
    X(TCP_RETRANSMITS, "tcp_retransmits", "TCP segments sent again")                              \
    X(TCP_RETRANSMIT_BYTES, "tcp_retransmit_bytes", "bytes of TCP data sent again")               \
    X(TCP_ACCEPTED, "tcp_accepted", "TCP connections established by the other side")              \
    X(TCP_CONNECTED, "tcp_connected", "TCP connections established by us")                        \
    X(TCP_OPENED, "tcp_opened", "TCP connections begun, either way")                              \
    X(TCP_CLOSED, "tcp_closed", "TCP connections ended, whatever way")                            \
    X(TCP_RESETS_RX, "tcp_resets_rx", "TCP connections ended by a reset received")                \
    X(TCP_RESETS_TX, "tcp_resets_tx", "TCP resets sent")                                          \
    X(TCP_TIMED_OUT, "tcp_timed_out", "TCP connections given up for want of answers")             \
    X(TCP_RTO, "tcp_rto", "TCP retransmission timeouts")                                          \
    X(TCP_TLP, "tcp_tlp", "TCP tail loss probes sent")                                            \
    X(TCP_RECOVERIES, "tcp_recoveries", "times that TCP entered fast recovery")                   \
    X(TCP_SPURIOUS, "tcp_spurious", "TCP recoveries found needless and undone")                   \
    X(TCP_REORDERED, "tcp_reordered", "TCP segments received out of order")                       \
    X(TCP_DSACK_RX, "tcp_dsack_rx", "reports of duplicates received (RFC 2883)")                  \
    X(TCP_DSACK_TX, "tcp_dsack_tx", "reports of duplicates sent")                                 \
    X(TCP_CHALLENGES, "tcp_challenges", "challenge ACKs sent (RFC 5961)")                         \
    X(TCP_CHALLENGES_LIMITED, "tcp_challenges_limited",                                           \
      "challenge ACKs not sent because of the rate limit")                                        \
    X(TCP_COOKIES_TX, "tcp_cookies_tx", "SYN cookies sent")                                       \
    X(TCP_COOKIES_RX, "tcp_cookies_rx", "TCP connections made from a SYN cookie")                 \
    X(TCP_TIME_WAIT, "tcp_time_wait", "TCP connections that entered TIME-WAIT")                   \
    X(TCP_TIME_WAIT_REUSED, "tcp_time_wait_reused",                                               \
      "TIME-WAIT ended by a new connection (RFC 6191)")                                           \
    X(TCP_TIME_WAIT_RECYCLED, "tcp_time_wait_recycled",                                           \
      "TIME-WAIT ended early at the bound of their number")                                       \
    X(TCP_WINDOW_PROBES, "tcp_window_probes", "TCP zero-window probes sent")                      \
    X(TCP_KEEPALIVES, "tcp_keepalives", "TCP keepalive probes sent")                              \
    X(TCP_BLACK_HOLES, "tcp_black_holes", "TCP segment size lowered for want of answers")         \
    X(TCP_CE_RX, "tcp_ce_rx", "TCP segments received with congestion experienced")                \
    X(TCP_ECE_RX, "tcp_ece_rx", "TCP congestion windows lowered by an echo of that")              \
    X(TLS_ACCEPTED, "tls_accepted", "TLS handshakes begun by clients")                            \
    X(TLS_FULL, "tls_full", "TLS handshakes completed in full")                                   \
    X(TLS_RESUMED, "tls_resumed", "TLS handshakes completed by resumption")                       \
    X(TLS_FAILED, "tls_failed", "TLS handshakes that failed")                                     \
    X(TLS_TIMED_OUT, "tls_timed_out", "TLS handshakes given up")                                  \
    X(TLS_LIMITED, "tls_limited", "connections refused at a bound of handshakes")                 \
    X(TLS_NO_ALPN, "tls_no_alpn", "TLS handshakes refused for want of a common protocol")         \
    X(TLS_ALERTS_RX, "tls_alerts_rx", "fatal TLS alerts received")                                \
    X(TLS_ALERTS_TX, "tls_alerts_tx", "fatal TLS alerts sent")                                    \
    X(TLS_TRUNCATED, "tls_truncated", "TLS connections that ended without close_notify")          \
    X(TLS_TICKETS, "tls_tickets", "session tickets made")                                         \
    X(TLS_TICKETS_STALE, "tls_tickets_stale", "session tickets received and not known")           \
    X(TLS_RX_RECORDS, "tls_rx_records", "TLS records of content received")                        \
    X(TLS_TX_RECORDS, "tls_tx_records", "TLS records of content sent")                            \
    X(TLS_RX_BYTES, "tls_rx_bytes", "bytes of content received in TLS")                           \
    X(TLS_TX_BYTES, "tls_tx_bytes", "bytes of content sent in TLS")                               \
    X(H2_OPENED, "h2_opened", "HTTP/2 connections begun")                                         \
    X(H2_CLOSED, "h2_closed", "HTTP/2 connections ended")                                         \
    X(H2_STREAMS_OPENED, "h2_streams_opened", "HTTP/2 streams opened, either way")                \
    X(H2_STREAMS_CLOSED, "h2_streams_closed", "HTTP/2 streams ended, whatever way")               \
    X(H2_REQUESTS, "h2_requests", "HTTP/2 requests told to a service")                            \
    X(H2_MALFORMED, "h2_malformed", "HTTP/2 messages that were malformed")                        \
    X(H2_RX_FRAMES, "h2_rx_frames", "HTTP/2 frames received")                                     \
    X(H2_TX_FRAMES, "h2_tx_frames", "HTTP/2 frames sent")                                         \
    X(H2_RX_CONTENT, "h2_rx_content", "bytes of content received in DATA")                        \
    X(H2_TX_CONTENT, "h2_tx_content", "bytes of content sent in DATA")                            \
    X(H2_RESETS_RX, "h2_resets_rx", "RST_STREAM received")                                        \
    X(H2_RESETS_TX, "h2_resets_tx", "RST_STREAM sent")                                            \
    X(H2_GOAWAY_RX, "h2_goaway_rx", "GOAWAY received")                                            \
    X(H2_GOAWAY_TX, "h2_goaway_tx", "GOAWAY sent")                                                \
    X(H2_ERRORS, "h2_errors", "HTTP/2 connections ended by an error of ours to tell")             \
    X(H2_CALM, "h2_calm", "of these, with ENHANCE_YOUR_CALM")                                     \
    X(H2_TIMED_OUT, "h2_timed_out", "HTTP/2 connections and streams ended by a timer")            \
    X(H2_LIMIT_RST, "h2_limit_rst", "connections ended for RST_STREAM beyond its rate")           \
    X(H2_LIMIT_RESET, "h2_limit_reset",                                                           \
      "connections ended for making us reset streams beyond the rate")                            \
    X(H2_LIMIT_PING, "h2_limit_ping", "connections ended for PING beyond its rate")               \
    X(H2_LIMIT_SETTINGS, "h2_limit_settings",                                                     \
      "connections ended for SETTINGS beyond their rate or size")                                 \
    X(H2_LIMIT_CONTINUATION, "h2_limit_continuation",                                             \
      "connections ended for CONTINUATION without end")                                           \
    X(H2_LIMIT_BOMB, "h2_limit_bomb", "connections ended for heads beyond all measure")           \
    X(H2_LIMIT_MEMORY, "h2_limit_memory", "connections ended for the memory they pinned")         \
    X(H2_LIMIT_STREAMS, "h2_limit_streams", "connections drained at their last stream")           \
    X(H2_PRIORITIES_LOST, "h2_priorities_lost",                                                   \
      "priorities not kept or not followed, for they are too many or too deep")                   \
    X(H2_DRAINED, "h2_drained", "connections drained for glitches")                               \
    X(H2_GLITCH_EMPTY_DATA, "h2_glitch_empty_data", "glitches, see http2/glitch.h")               \
    X(H2_GLITCH_SMALL_DATA, "h2_glitch_small_data", "glitches")                                   \
    X(H2_GLITCH_PADDING, "h2_glitch_padding", "glitches")                                         \
    X(H2_GLITCH_PRIORITY, "h2_glitch_priority", "glitches")                                       \
    X(H2_GLITCH_UNKNOWN_FRAME, "h2_glitch_unknown_frame", "glitches")                             \
    X(H2_GLITCH_WINDOW_UPDATE, "h2_glitch_window_update", "glitches")                             \
    X(H2_GLITCH_SMALL_WINDOW, "h2_glitch_small_window", "glitches")                               \
    X(H2_GLITCH_CONTINUATION, "h2_glitch_continuation", "glitches")                               \
    X(H2_GLITCH_CLOSED_STREAM, "h2_glitch_closed_stream", "glitches")                             \
    X(H2_GLITCH_STREAM_ERROR, "h2_glitch_stream_error", "glitches")                               \
    X(H2_GLITCH_REFUSED, "h2_glitch_refused", "glitches")                                         \
    X(H2_GLITCH_HEADER_LIST, "h2_glitch_header_list", "glitches")                                 \
    X(H2_GLITCH_STALLED, "h2_glitch_stalled", "glitches")                                         \
    X(TUNNELS_OPENED, "tunnels_opened", "CONNECT tunnels whose target was connected")             \
    X(TUNNELS_CLOSED, "tunnels_closed", "of those, the ones that have ended")                     \
    X(TUNNEL_TO_TARGET, "tunnel_to_target_bytes", "bytes of tunnels that have ended, to targets") \
    X(TUNNEL_TO_CLIENT, "tunnel_to_client_bytes", "bytes of tunnels that have ended, to clients") \
    X(TUNNEL_END_DONE, "tunnel_end_done", "ends of tunnels")                                      \
    X(TUNNEL_END_CLIENT_RESET, "tunnel_end_client_reset", "ends of tunnels")                      \
    X(TUNNEL_END_TARGET_RESET, "tunnel_end_target_reset", "ends of tunnels")                      \
    X(TUNNEL_END_TARGET_TIMEOUT, "tunnel_end_target_timeout", "ends of tunnels")                  \
    X(TUNNEL_END_IDLE, "tunnel_end_idle_timeout", "ends of tunnels")                              \
    X(TUNNEL_END_HALF_OPEN, "tunnel_end_half_open_timeout", "ends of tunnels")                    \
    X(TUNNEL_END_LIFETIME, "tunnel_end_lifetime", "ends of tunnels")                              \
    X(TUNNEL_END_KILLED, "tunnel_end_killed", "ends of tunnels")                                  \
    X(TUNNEL_END_NO_MEMORY, "tunnel_end_no_memory", "ends of tunnels")                            \
    X(TUNNEL_END_BAD_REQUEST, "tunnel_end_bad_request", "ends of tunnels")                        \
    X(TUNNEL_END_NOT_CONNECT, "tunnel_end_not_connect", "ends of tunnels")                        \
    X(TUNNEL_END_BAD_PROTOCOL, "tunnel_end_bad_protocol", "ends of tunnels")                      \
    X(TUNNEL_END_UNKNOWN_USER, "tunnel_end_unknown_user", "ends of tunnels")                      \
    X(TUNNEL_END_DENIED, "tunnel_end_denied", "ends of tunnels")                                  \
    X(TUNNEL_END_PROHIBITED, "tunnel_end_prohibited", "ends of tunnels")                          \
    X(TUNNEL_END_USER_LIMIT, "tunnel_end_user_limit", "ends of tunnels")                          \
    X(TUNNEL_END_LIMIT, "tunnel_end_limit", "ends of tunnels")                                    \
    X(TUNNEL_END_NO_NAME, "tunnel_end_no_name", "ends of tunnels")                                \
    X(TUNNEL_END_DNS_ERROR, "tunnel_end_dns_error", "ends of tunnels")                            \
    X(TUNNEL_END_DNS_TIMEOUT, "tunnel_end_dns_timeout", "ends of tunnels")                        \
    X(TUNNEL_END_REFUSED, "tunnel_end_refused", "ends of tunnels")                                \
    X(TUNNEL_END_UNREACHABLE, "tunnel_end_unreachable", "ends of tunnels")                        \
    X(TUNNEL_END_CONNECT_TIMEOUT, "tunnel_end_connect_timeout", "ends of tunnels")

enum counter {
#define X(id, name, text) COUNTER_##id,
    COUNTERS(X)
#undef X
        COUNTER_END
};

struct counters {
    _Atomic uint64_t count[COUNTER_END];
    _Atomic uint64_t drop[DROP_END];
};

/* A worker publishes all of it as one record (ctl/record.h). */
#define COUNTERS_WORDS ((unsigned)COUNTER_END + (unsigned)DROP_END)
_Static_assert(sizeof(struct counters) == COUNTERS_WORDS * sizeof(uint64_t),
               "counters are an array of words");

/* The word of that for a drop reason; the word of a counter is the one of its number. */
static inline unsigned counters_drop_word(enum drop why)
{
    return (unsigned)COUNTER_END + (unsigned)why;
}

/* Writer only: a plain add, no bus lock. */
static inline void counter_add(struct counters *c, enum counter which, uint64_t n)
{
    uint64_t v = atomic_load_explicit(&c->count[which], memory_order_relaxed);
    atomic_store_explicit(&c->count[which], v + n, memory_order_relaxed);
}

static inline void counter_drop(struct counters *c, enum drop why)
{
    uint64_t v = atomic_load_explicit(&c->drop[why], memory_order_relaxed);
    atomic_store_explicit(&c->drop[why], v + 1, memory_order_relaxed);
}

static inline uint64_t counter_get(const struct counters *c, enum counter which)
{
    return atomic_load_explicit(&c->count[which], memory_order_relaxed);
}

static inline uint64_t counter_drops(const struct counters *c, enum drop why)
{
    return atomic_load_explicit(&c->drop[why], memory_order_relaxed);
}

/* "rx_packets" */
const char *counter_name(enum counter which);
const char *counter_text(enum counter which);

#endif
