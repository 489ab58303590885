#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Starts the appliance on one end of a veth pair, between two network namespaces made for it, and
# prints commands to try. Nothing leaves the namespaces: they have no route to anywhere else.
set -eu

usage() {
    cat <<'END'
app/demo.sh BINARY [--driver af_xdp|af_packet|tap] [--workers N] [--keep]

Runs BINARY in the foreground until Ctrl-C, then removes what was made.
  --driver   how the appliance reaches its device (af_xdp, or af_packet where that cannot be had)
  --workers  worker cores (1)
  --keep     leave namespaces and files behind
END
}

demo=millrace-demo
client=millrace-client
driver=
workers=1
keep=
binary=
child=
dir=
runtime=${RUNTIME_DIRECTORY:-/run}/dpdk/$demo # DPDK makes it, and leaves it
sudo=
if [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then sudo='sudo '; fi

die() {
    echo "demo: $*" >&2
    exit 1
}

parse() {
    while [ $# -gt 0 ]; do
        case $1 in
        --driver) [ $# -gt 1 ] || die "--driver needs a name"; driver=$2; shift ;;
        --workers) [ $# -gt 1 ] || die "--workers needs a number"; workers=$2; shift ;;
        --keep) keep=1 ;;
        --help | -h) usage; exit 0 ;;
        -*) usage >&2; die "unknown option $1" ;;
        *) binary=$1 ;;
        esac
        shift
    done
    [ -n "$binary" ] || { usage >&2; exit 2; }
    [ -x "$binary" ] || die "$binary is not there; type: make build"
    case $driver in '' | af_xdp | af_packet | tap) ;; *) die "driver $driver is not one of the demo's" ;; esac
    case $workers in '' | *[!0-9]* | 0) die "--workers takes a number from 1 on" ;; esac
    [ "$(id -u)" = 0 ] || die "needs root, for namespaces and devices; type: sudo make run"
    [ "$workers" -le "$(awk '/^processor/ { n++ } END { print n }' /proc/cpuinfo)" ] ||
        die "this machine has fewer than $workers cores"
}

remove_namespaces() {
    for ns in $demo $client; do
        ip netns del "$ns" 2>/dev/null || true
    done
}

# On every way out.
# shellcheck disable=SC2317 # a trap calls it
clean() {
    trap '' INT TERM HUP
    if [ -n "$child" ]; then
        kill -TERM "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    fi
    rm -rf "$runtime"
    if [ -n "$keep" ]; then
        echo "demo: left $dir and the namespaces; remove them: ip netns del $demo; ip netns del $client; rm -r $dir"
        return
    fi
    remove_namespaces
    if [ -n "$dir" ]; then rm -rf "$dir"; fi
}

# What a killed demo left behind goes; one that runs stays.
check_free() {
    for ns in $demo $client; do
        pids=$(ip netns pids "$ns" 2>/dev/null || true)
        pids=$(echo "$pids" | paste -sd' ' -)
        [ -z "$pids" ] || die "one runs already in namespace $ns; to end it: Ctrl-C there, or ${sudo}kill $pids"
    done
    remove_namespaces
}

in_ns() {
    ns=$1
    shift
    ip netns exec "$ns" "$@"
}

# The appliance answers for mill0, so the kernel has to be silent there; and packets on a veth carry
# no checksum unless their sender is told to fill it in.
make_pair() {
    ip netns add $demo
    ip netns add $client
    in_ns $demo ip link set lo up
    in_ns $client ip link set lo up
    if [ "$driver" = tap ]; then return; fi
    ip link add mill0 netns $demo numrxqueues "$workers" numtxqueues "$workers" type veth \
        peer name client0 netns $client numrxqueues "$workers" numtxqueues "$workers"
    in_ns $demo sh -c 'echo 1 > /proc/sys/net/ipv6/conf/mill0/disable_ipv6'
    in_ns $demo ethtool -K mill0 tx off gro off >/dev/null
    in_ns $client ethtool -K client0 tx off >/dev/null
    in_ns $demo ip link set mill0 up
    client_addresses $client client0
}

client_addresses() {
    in_ns "$1" ip addr add 10.77.0.2/24 dev "$2"
    in_ns "$1" ip addr add fd77::2/64 dev "$2" nodad
    in_ns "$1" ip link set "$2" up
}

# A certificate, which curl is told to trust, and something to serve.
make_site() {
    "$binary" cert --out "$dir" --name 10.77.0.1 --name fd77::1 >/dev/null
    mkdir "$dir/www"
    cat >"$dir/www/index.html" <<END
<!doctype html>
<title>Millrace</title>
<p>Served past the kernel.
END
}

write_config() {
    cores=$(awk '/^processor/ { print $3 }' /proc/cpuinfo | tail -n "$workers" | paste -sd, -)
    cat >"$dir/millrace.yaml" <<END
devices:
  - name: mill0
    driver: $driver
    interface: mill0
    addresses: [10.77.0.1/24, "fd77::1/64"]
workers:
  cores: [$cores]
listeners:
  - {name: echo, port: 7, service: echo}
  - {name: discard, port: 9, service: discard}
  - {name: source, port: 19, service: source}
  - {name: https, port: 443, protocol: http2, service: origin, origin: site, certificates: [demo]}
  - {name: http, port: 80, protocol: http2, service: origin, origin: site}
certificates:
  - {name: demo, certificate: $dir/certificate.pem, key: $dir/key.pem}
origins:
  - {name: site, directory: $dir/www, bytes: true, echo: true}
responses:
  - {origin: site, path: /health, type: text/plain, body: fine}
access-log:
  sample: 1
  file: $dir/access.log
control:
  socket: $dir/control.sock
memory:
  file-prefix: millrace-demo
capture:
  directory: $dir/capture
log:
  level: info
END
}

# Starts it and waits until it answers on its control socket. False: it ended before.
start() {
    write_config
    ip netns exec $demo "$binary" --config "$dir/millrace.yaml" & # not in_ns: $! is to be it
    child=$!
    until curl -s -o /dev/null --max-time 1 --unix-socket "$dir/control.sock" http://localhost/v1/health; do
        if ! kill -0 "$child" 2>/dev/null; then
            wait "$child" || true
            child=
            return 1
        fi
        sleep 0.1
    done
}

print_commands() {
    from=$client
    if [ "$driver" = tap ]; then from=$demo; fi
    ctl="$sudo$(dirname "$(realpath "$binary")")/millracectl -s $dir/control.sock"
    # What reads a capture is not a need of the appliance: the first of these that is there.
    reader=
    for tool in tshark tcpdump; do
        if command -v $tool >/dev/null; then
            reader="  ${sudo}$tool -n -r $dir/capture/demo.pcapng
"
            break
        fi
    done
    # Nor is what speaks TCP: bash does, too.
    if command -v socat >/dev/null; then
        hello="echo hello | ${sudo}ip netns exec $from socat -t 2 - TCP:10.77.0.1:7"
    else
        hello="${sudo}ip netns exec $from bash -c 'exec 3<>/dev/tcp/10.77.0.1/7; echo hello >&3; head -n 1 <&3'"
    fi
    cat <<END

The appliance runs: 10.77.0.1 and fd77::1 on mill0 ($driver, $workers worker core(s)), with TCP services echo (port 7),
discard (9) and source (19), and a site by HTTP/2 over TLS (443) and in the clear (80). In another terminal:

  ${sudo}ip netns exec $from ping -c 3 10.77.0.1
  ${sudo}ip netns exec $from ping -6 -c 3 fd77::1
  ${sudo}ip netns exec $from ping -c 3 -s 65507 10.77.0.1
  $hello
  (sleep 1; $ctl show conn --long) & ${sudo}ip netns exec $from timeout 2 bash -c 'cat </dev/tcp/fd77::1/19' | dd of=/dev/null bs=64k 2>&1
  ${sudo}ip netns exec $from curl --cacert $dir/certificate.pem https://10.77.0.1/
  ${sudo}ip netns exec $from curl --cacert $dir/certificate.pem -s -o /dev/null -w '%{size_download} bytes, %{speed_download} a second\n' 'https://[fd77::1]/bytes/100000000'
  ${sudo}ip netns exec $from curl --http2-prior-knowledge -d 'to be sent back' http://10.77.0.1/echo
  tail -n 3 $dir/access.log
  $ctl show listeners
  $ctl show ports
  $ctl show workers
  $ctl show drops
  $ctl capture start --file demo.pcapng
  ${sudo}ip netns exec $from ping -c 3 10.77.0.1
  $ctl capture stop
$reader  ${sudo}curl --unix-socket $dir/control.sock http://localhost/metrics

Ctrl-C stops it and removes everything again. Its configuration: $dir/millrace.yaml

END
}

parse "$@"
check_free
dir=$(mktemp -d /tmp/millrace-demo.XXXXXX)
chmod 755 "$dir"
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

make_site
choice=$driver
driver=${choice:-af_xdp}
make_pair
if ! start; then
    [ -z "$choice" ] || die "it did not start; the lines above say why"
    echo "demo: AF_XDP cannot be had here; trying af_packet"
    driver=af_packet
    start || die "it did not start; the lines above say why"
fi
if [ "$driver" = tap ]; then client_addresses $demo mill0; fi
print_commands
code=0
wait "$child" || code=$?
child=
exit $code
