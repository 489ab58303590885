#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Gives a NIC to vfio-pci for DPDK, and back to the driver that it had.
set -euo pipefail

sysfs=${SYSFS_ROOT:-/sys}
state=${BIND_STATE:-/run/millrace/bind}
driver=vfio-pci
force=

usage() {
    cat <<'EOF'
usage: bind.sh status
       bind.sh bind [--driver DRIVER] [--force] DEVICE...
       bind.sh unbind DEVICE...

DEVICE is a PCI address (0000:03:00.0 or 03:00.0) or a kernel interface (eth1).

  status    the network devices, their driver, their interface, what they had before
  bind      takes each from its kernel driver and gives it to vfio-pci; what it had
            is remembered in /run/millrace/bind. Refuses an interface that carries
            the default route, or is up with an address: your session may run there
  unbind    gives each back to the driver it had
  --driver  another one than vfio-pci: uio_pci_generic, igb_uio
  --force   also what bind would refuse because it is in use

NVIDIA (Mellanox) cards stay with their kernel driver: DPDK works beside it.
The binding lasts until the next boot. SYSFS_ROOT and BIND_STATE name other trees
than /sys and /run/millrace/bind.
EOF
}

fail() {
    echo "bind.sh: $*" >&2
    exit 1
}

wrong_usage() {
    echo "bind.sh: $* (bind.sh --help tells more)" >&2
    exit 2
}

put() { # value, file below /sys
    tee "$sysfs/$2" <<<"$1" >/dev/null || fail "cannot write $sysfs/$2: are you root?"
}

# The full PCI address of an address or interface.
address_of() {
    local path
    if [[ $1 =~ ^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$ ]]; then
        path=${1,,}
        [[ $path == *:*:* ]] || path=0000:$path
    else
        [[ -e $sysfs/class/net/$1 ]] || fail "there is no interface '$1' here"
        path=$(readlink -f "$sysfs/class/net/$1/device") || path=
        [[ ${path##*/} != virtio* ]] || path=${path%/*} # virtio's own bus is below the PCI device
        path=${path##*/}
    fi
    [[ $path && -d $sysfs/bus/pci/devices/$path ]] || fail "'$1' is not a PCI device (lspci -D lists them)"
    echo "$path"
}

driver_of() { # empty: none
    local link=$sysfs/bus/pci/devices/$1/driver
    [[ ! -e $link ]] || basename "$(readlink "$link")"
}

interfaces_of() {
    local path
    for path in "$sysfs/bus/pci/devices/$1"/net/* "$sysfs/bus/pci/devices/$1"/virtio*/net/*; do
        [[ ! -e $path ]] || basename "$path"
    done
}

# What the interface is needed for; empty: nothing that we know of.
use_of() {
    if [[ $(ip -4 -o route show default dev "$1"; ip -6 -o route show default dev "$1") ]]; then
        echo "carries the default route"
    elif [[ $(ip -o addr show dev "$1" up scope global) ]]; then
        echo "is up and has an address"
    fi
}

check_kind() {
    local class
    class=$(<"$sysfs/bus/pci/devices/$1/class")
    [[ $class == 0x02* ]] || fail "$1 is not a network device (class $class)"
    case $(driver_of "$1") in
    mlx4_core | mlx5_core)
        fail "$1 stays with its kernel driver $(driver_of "$1"): DPDK works beside it. Nothing to bind" ;;
    esac
}

check_unused() {
    local interface use
    for interface in $(interfaces_of "$1"); do
        use=$(use_of "$interface")
        [[ -z $use ]] || fail "$1 is $interface, which $use: --force if you mean it"
    done
}

check_iommu() {
    local unsafe=$sysfs/module/vfio/parameters/enable_unsafe_noiommu_mode
    [[ $driver == vfio-pci && ! -e $sysfs/bus/pci/devices/$1/iommu_group ]] || return 0
    [[ -e $unsafe && $(<"$unsafe") == [Y1] ]] ||
        fail "$1 has no IOMMU. On hardware: intel_iommu=on or amd_iommu=on iommu=pt on the kernel's command line." \
            "In a virtual machine without one: modprobe vfio; echo 1 > $unsafe (the NIC may then write anywhere)"
}

# Others in the same IOMMU group keep vfio from opening it while a kernel driver has them.
warn_group() {
    local path other
    for path in "$sysfs/bus/pci/devices/$1"/iommu_group/devices/*; do
        other=${path##*/}
        [[ -e $path && $other != "$1" ]] || continue
        case $(driver_of "$other") in
        '' | vfio-pci | pcieport) ;;
        *) echo "bind.sh: $other shares $1's IOMMU group and is with $(driver_of "$other"): bind it too" >&2 ;;
        esac
    done
}

load_driver() {
    [[ -d $sysfs/bus/pci/drivers/$driver ]] || modprobe "$driver" ||
        fail "cannot load $driver: is it in this kernel?"
}

# Takes the device from the driver it has and lets the kernel find it another: override, or any.
move() { # address, override or empty
    put "$2" "bus/pci/devices/$1/driver_override"
    [[ ! -e $sysfs/bus/pci/devices/$1/driver ]] || put "$1" "bus/pci/devices/$1/driver/unbind"
    put "$1" bus/pci/drivers_probe
}

bind_one() {
    local old
    old=$(driver_of "$1")
    if [[ $old == "$driver" ]]; then
        echo "$1 is with $driver already"
        return
    fi
    check_kind "$1"
    [[ $force ]] || check_unused "$1"
    check_iommu "$1"
    load_driver
    mkdir -p "$state"
    # From one DPDK driver to another: what to go back to is what the kernel had.
    [[ -e $state/$1 ]] || echo "$old" >"$state/$1"
    move "$1" "$driver"
    [[ $(driver_of "$1") == "$driver" ]] ||
        fail "$1 did not go to $driver (dmesg may say why): bind.sh unbind $1 undoes it"
    echo "$1: $driver (before: ${old:-none})"
    warn_group "$1"
}

unbind_one() {
    local old=''
    [[ ! -e $state/$1 ]] || old=$(<"$state/$1")
    case $(driver_of "$1") in
    vfio-pci | uio_pci_generic | igb_uio | '') ;;
    *) [[ $old ]] || fail "$1 is with $(driver_of "$1"), not with a driver for DPDK" ;;
    esac
    move "$1" ''
    if [[ $old && $(driver_of "$1") != "$old" ]]; then
        put "$1" "bus/pci/drivers/$old/bind"
        [[ $(driver_of "$1") == "$old" ]] || fail "$1 did not go back to $old (dmesg may say why)"
    fi
    rm -f "$state/$1"
    old=$(driver_of "$1")
    echo "$1: ${old:-no driver}"
}

status() {
    local path address before
    for path in "$sysfs"/bus/pci/devices/*; do
        address=${path##*/}
        [[ -e $path/class && $(<"$path/class") == 0x02* ]] || continue
        before=
        [[ ! -e $state/$address ]] || before="before: $(<"$state/$address")"
        printf '%s  %-16s %-16s %s\n' "$address" "$(driver_of "$address")" \
            "$(interfaces_of "$address" | paste -sd,)" "$before"
    done
}

words=()
while (($#)); do
    case $1 in
    -h | --help) usage && exit ;;
    --force) force=1 ;;
    --driver)
        [[ ${2:-} =~ ^[a-z0-9_-]+$ ]] || wrong_usage "--driver takes a driver's name"
        driver=$2
        shift
        ;;
    -*) wrong_usage "unknown option '$1'" ;;
    *) words+=("$1") ;;
    esac
    shift
done

command=${words[0]:-}
case $command/${#words[@]} in
status/1) status && exit ;;
bind/1 | unbind/1) wrong_usage "which device?" ;;
bind/* | unbind/*) ;;
*) wrong_usage "status, bind or unbind" ;;
esac

# All names first, so that a slip in the last one moves nothing.
addresses=()
for word in "${words[@]:1}"; do
    addresses+=("$(address_of "$word")")
done
for address in "${addresses[@]}"; do
    "${command}_one" "$address"
done
