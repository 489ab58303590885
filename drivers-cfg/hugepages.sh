#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Reserves, shows and releases hugepages, on each NUMA node by itself.
set -euo pipefail

sysfs=${SYSFS_ROOT:-/sys}

usage() {
    cat <<'EOF'
usage: hugepages.sh show
       hugepages.sh reserve [--size 2M|1G] [--node N] AMOUNT
       hugepages.sh release [--size 2M|1G] [--node N]

Packets and DPDK's own tables live in hugepages: fewer address translations, and
for NICs without an IOMMU the only memory whose physical address stays.

  show      what each NUMA node has, by page size
  reserve   AMOUNT (512M, 4G) on each node, or on node N only. The nodes that
            matter are those of the NIC (/sys/bus/pci/devices/ADDRESS/numa_node)
            and of the workers' cores
  release   gives free pages back; what a process holds stays until it ends
  --size    2M (the default, and any machine has it) or 1G (for some hundred
            megabytes and more; best reserved at boot, while memory is whole)

A reservation lasts until the next boot; reserve prints how to make it last.
Millrace starts without hugepages too, unless `memory: {hugepages: on}`.
SYSFS_ROOT names another tree than /sys.
EOF
}

fail() {
    echo "hugepages.sh: $*" >&2
    exit 1
}

wrong_usage() {
    echo "hugepages.sh: $* (hugepages.sh --help tells more)" >&2
    exit 2
}

# Kibibytes of "512M", "4G".
kib() {
    local number=${1%[MmGg]*}
    [[ $1 =~ ^[1-9][0-9]{0,6}([MG](i?B)?)$ ]] || wrong_usage "'$1' is no amount such as 512M or 4G"
    case $1 in
    *G*) echo $((number * 1024 * 1024)) ;;
    *) echo $((number * 1024)) ;;
    esac
}

# "512 MiB", "4 GiB" of kibibytes.
human() {
    if (($1 % 1048576 == 0)); then
        echo "$(($1 / 1048576)) GiB"
    else
        echo "$(($1 / 1024)) MiB"
    fi
}

nodes() {
    local path found=0
    for path in "$sysfs"/devices/system/node/node[0-9]*; do
        [[ -d $path/hugepages ]] || continue
        echo "${path##*/node}"
        found=1
    done
    ((found)) || fail "the kernel has no hugepages: no $sysfs/devices/system/node/node*/hugepages"
}

pool() { # node, page size in KiB
    echo "$sysfs/devices/system/node/node$1/hugepages/hugepages-${2}kB"
}

show() {
    local node path size total free
    for node in $(nodes); do
        for path in "$sysfs/devices/system/node/node$node"/hugepages/hugepages-*kB; do
            size=${path##*-}
            size=${size%kB}
            total=$(<"$path/nr_hugepages")
            free=$(<"$path/free_hugepages")
            printf 'node %s  %-8s %6d pages, %6d free  (%s of %s free)\n' "$node" \
                "$(human "$size")" "$total" "$free" "$(human $((free * size)))" \
                "$(human $((total * size)))"
        done
    done
}

resize() { # node, page size in KiB, pages; false where the kernel gave fewer
    local file
    file=$(pool "$1" "$2")/nr_hugepages
    [[ -e $file ]] || fail "node $1 has no pages of $(human "$2") (the processor or kernel lacks them)"
    tee "$file" <<<"$3" >/dev/null || fail "cannot write $file: are you root?"
    (($(<"$file") >= $3))
}

persist() { # page size in KiB, pages for all nodes
    if (($1 == 2048)); then
        echo "To keep it: echo 'vm.nr_hugepages = $2' > /etc/sysctl.d/80-millrace.conf (spread over nodes)"
    else
        echo "To keep it: add 'hugepagesz=1G hugepages=$2' to the kernel's command line (/etc/default/grub)"
    fi
}

reserve() { # page size, amount in KiB, nodes...
    local size=$1 amount=$2 pages got node short=0
    shift 2
    pages=$(((amount + size - 1) / size))
    for node; do
        if resize "$node" "$size" "$pages"; then
            echo "node $node: $pages pages of $(human "$size")"
        else
            got=$(<"$(pool "$node" "$size")/nr_hugepages")
            echo "node $node: only $got of $pages pages of $(human "$size"): free memory is in pieces" >&2
            short=1
        fi
    done
    if ((short)); then
        fail "try 'sync; echo 3 > /proc/sys/vm/drop_caches' and again, or reserve at boot"
    fi
    persist "$size" $((pages * $#))
}

release() { # page size, nodes...
    local size=$1 node left
    shift
    for node; do
        [[ -e $(pool "$node" "$size") ]] || continue
        resize "$node" "$size" 0 || true
        left=$(<"$(pool "$node" "$size")/nr_hugepages")
        if ((left)); then
            echo "node $node: $left pages of $(human "$size") are in use, and go when their process ends"
        else
            echo "node $node: no pages of $(human "$size") left"
        fi
    done
}

size=2048
node=
words=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit ;;
    --size)
        case ${2:-} in
        2M) size=2048 ;;
        1G) size=1048576 ;;
        *) wrong_usage "--size is 2M or 1G" ;;
        esac
        shift
        ;;
    --node)
        [[ ${2:-} =~ ^[0-9]+$ ]] || wrong_usage "--node takes a node's number"
        node=$2
        shift
        ;;
    -*) wrong_usage "unknown option '$1'" ;;
    *) words+=("$1") ;;
    esac
    shift
done

all=$(nodes)
if [[ $node ]]; then
    grep -qx "$node" <<<"$all" || fail "there is no NUMA node $node (there are: ${all//$'\n'/ })"
    all=$node
fi
mapfile -t all <<<"$all"

case ${words[0]:-}/${#words[@]} in
show/1) show ;;
reserve/2)
    amount=$(kib "${words[1]}")
    reserve "$size" "$amount" "${all[@]}"
    ;;
release/1) release "$size" "${all[@]}" ;;
*) wrong_usage "show, reserve AMOUNT or release" ;;
esac
