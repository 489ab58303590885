#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: BSD-3-Clause
"""The scripts of drivers-cfg on a machine that is only files: test_drivers_cfg.py DIRECTORY.

SYSFS_ROOT points at a made-up tree. The scripts write to sysfs by tee, and ask ip and modprobe;
the ones found first in PATH here do as a kernel would.
"""
import os
import subprocess
import sys
import tempfile

NIC = "0000:03:00.0"
PORT2 = "0000:03:00.1"
MLX = "0000:04:00.0"
DISK = "0000:05:00.0"
VIRTIO = "0000:06:00.0"

# What the kernel does with a write; reads nothing but its own arguments and the tree.
KERNEL = r"""#!/bin/bash
read -r value
devices=$SYSFS_ROOT/bus/pci/devices
echo "$value > ${1#"$SYSFS_ROOT"/}" >>"$LOG"
attach() { # address, driver
    ln -sfn "$SYSFS_ROOT/bus/pci/drivers/$2" "$devices/$1/driver"
}
case $1 in
*/driver/unbind) rm "$devices/$value/driver" ;;
*/drivers_probe)
    override=$(<"$devices/$value/driver_override")
    native=$(<"$devices/$value/native")
    [[ -e $devices/$value/stubborn ]] || attach "$value" "${override:-$native}"
    ;;
*/drivers/*/bind) driver=${1%/bind} && attach "$value" "${driver##*/}" ;;
*/nr_hugepages)
    most=$(<"${1%/*}/most")
    echo $((value < most ? value : most)) >"$1"
    ;;
*) echo "$value" >"$1" ;;
esac
"""
IP = r"""#!/bin/bash
case "$*" in
"-4 -o route show default dev $DEFAULT") echo "default via 192.0.2.1 dev $DEFAULT" ;;
"-o addr show dev $ADDRESSED up scope global") echo "2: $ADDRESSED inet 192.0.2.2/24" ;;
esac
"""
MODPROBE = r"""#!/bin/bash
[[ $1 != absent ]] && mkdir -p "$SYSFS_ROOT/bus/pci/drivers/$1"
"""


class Machine:
    """A tree like /sys, commands in front of the real ones, and the scripts to run on them."""

    def __init__(self, scripts, root):
        self.scripts, self.root = scripts, root
        self.sys, self.log = f"{root}/sys", f"{root}/log"
        for name, text in ("tee", KERNEL), ("ip", IP), ("modprobe", MODPROBE):
            self.file(f"bin/{name}", text)
            os.chmod(f"{root}/bin/{name}", 0o755)
        self.env = dict(
            os.environ,
            PATH=f"{root}/bin:{os.environ['PATH']}",
            SYSFS_ROOT=self.sys,
            BIND_STATE=f"{root}/state",
            LOG=self.log,
            DEFAULT="none",
            ADDRESSED="none",
        )

    def file(self, name, text=""):
        os.makedirs(os.path.dirname(f"{self.root}/{name}"), exist_ok=True)
        with open(f"{self.root}/{name}", "w", encoding="utf-8") as out:
            out.write(text)

    def read(self, name):
        with open(f"{self.root}/{name}", encoding="utf-8") as text:
            return text.read().strip()

    def device(self, address, driver, interface=None, kind="0x020000", iommu="7", below=""):
        base = f"sys/bus/pci/devices/{address}"
        self.file(f"{base}/class", kind + "\n")
        self.file(f"{base}/native", driver + "\n")
        self.file(f"{base}/driver_override", "(null)\n")
        os.makedirs(f"{self.sys}/bus/pci/drivers/{driver}", exist_ok=True)
        os.symlink(f"{self.sys}/bus/pci/drivers/{driver}", f"{self.root}/{base}/driver")
        if interface:
            os.makedirs(f"{self.root}/{base}{below}/net/{interface}")
            os.makedirs(f"{self.sys}/class/net/{interface}")
            os.symlink(f"{self.root}/{base}{below}", f"{self.sys}/class/net/{interface}/device")
        if iommu:
            group = f"{self.sys}/kernel/iommu_groups/{iommu}"
            os.makedirs(f"{group}/devices", exist_ok=True)
            os.symlink(f"{self.root}/{base}", f"{group}/devices/{address}")
            os.symlink(group, f"{self.root}/{base}/iommu_group")

    def hugepages(self, node, size, most):
        base = f"sys/devices/system/node/node{node}/hugepages/hugepages-{size}kB"
        self.file(f"{base}/nr_hugepages", "0\n")
        self.file(f"{base}/free_hugepages", "0\n")
        self.file(f"{base}/most", f"{most}\n")

    def driver(self, address):
        link = f"{self.sys}/bus/pci/devices/{address}/driver"
        return os.path.basename(os.readlink(link)) if os.path.islink(link) else None

    def pages(self, node, size):
        return self.read(
            f"sys/devices/system/node/node{node}/hugepages/hugepages-{size}kB/nr_hugepages"
        )

    def remembered(self):
        state = f"{self.root}/state"
        return os.listdir(state) if os.path.isdir(state) else []

    def writes(self):
        return self.read("log").splitlines() if os.path.exists(self.log) else []

    def run(self, script, *words, code=0, says=(), **env):
        run = subprocess.run(
            [f"{self.scripts}/{script}", *words],
            env=dict(self.env, **env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert run.returncode == code, f"{words}: exit code {run.returncode}\n{run.stdout}"
        for text in [says] if isinstance(says, str) else says:
            assert text in run.stdout, f"{words}: no '{text}' in\n{run.stdout}"
        return run.stdout


def binds_and_gives_back(m):
    m.device(NIC, "ixgbe", "eth1")
    m.run("bind.sh", "bind", "eth1", says=f"{NIC}: vfio-pci (before: ixgbe)")
    assert m.driver(NIC) == "vfio-pci"
    assert m.read(f"state/{NIC}") == "ixgbe"
    assert m.writes() == [
        f"vfio-pci > bus/pci/devices/{NIC}/driver_override",
        f"{NIC} > bus/pci/devices/{NIC}/driver/unbind",
        f"{NIC} > bus/pci/drivers_probe",
    ]
    m.run("bind.sh", "bind", "03:00.0", says="with vfio-pci already")
    m.run("bind.sh", "status", says=[NIC, "vfio-pci", "before: ixgbe"])
    m.run("bind.sh", "unbind", NIC, says=f"{NIC}: ixgbe")
    assert m.driver(NIC) == "ixgbe" and not m.remembered()
    assert m.read(f"sys/bus/pci/devices/{NIC}/driver_override") == ""


def goes_back_to_what_it_remembers(m):
    """Not to what the kernel prefers, and not to the DPDK driver between."""
    m.device(NIC, "ixgbe", "eth1")
    m.run("bind.sh", "bind", NIC)
    m.run("bind.sh", "bind", "--driver", "uio_pci_generic", NIC)
    assert m.driver(NIC) == "uio_pci_generic" and m.read(f"state/{NIC}") == "ixgbe"
    m.file(f"sys/bus/pci/devices/{NIC}/native", "other\n")
    m.run("bind.sh", "unbind", NIC, says=f"{NIC}: ixgbe")
    assert f"{NIC} > bus/pci/drivers/ixgbe/bind" in m.writes()


def refuses_what_is_in_use(m):
    m.device(NIC, "ixgbe", "eth1")
    m.run("bind.sh", "bind", NIC, code=1, DEFAULT="eth1", says="carries the default route: --force")
    m.run("bind.sh", "bind", NIC, code=1, ADDRESSED="eth1", says="is up and has an address")
    assert m.driver(NIC) == "ixgbe" and not m.writes() and not m.remembered()
    m.run("bind.sh", "bind", "--force", NIC, DEFAULT="eth1", ADDRESSED="eth1")
    assert m.driver(NIC) == "vfio-pci"


def refuses_what_it_must_not_bind(m):
    m.device(MLX, "mlx5_core", "eth2")
    m.device(DISK, "nvme", kind="0x010802")
    m.run("bind.sh", "bind", "--force", MLX, code=1, says="stays with its kernel driver mlx5_core")
    m.run("bind.sh", "bind", "--force", DISK, code=1, says="not a network device (class 0x010802)")
    m.run("bind.sh", "unbind", MLX, code=1, says="is with mlx5_core, not with a driver for DPDK")
    m.run("bind.sh", "unbind", DISK, code=1, says="is with nvme")
    assert not m.writes() and not m.remembered()


def one_bad_name_moves_nothing(m):
    m.device(NIC, "ixgbe", "eth1")
    m.run("bind.sh", "bind", NIC, "eth9", code=1, says="there is no interface 'eth9'")
    m.run("bind.sh", "bind", NIC, "0000:99:00.0", code=1, says="not a PCI device")
    assert m.driver(NIC) == "ixgbe" and not m.writes()


def asks_for_an_iommu(m):
    m.device(VIRTIO, "virtio-pci", "eth3", iommu=None, below="/virtio2")
    m.run("bind.sh", "bind", "eth3", code=1, says=["has no IOMMU", "enable_unsafe_noiommu_mode"])
    m.file("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "N\n")
    m.run("bind.sh", "bind", "eth3", code=1, says="has no IOMMU")
    m.file("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n")
    m.run("bind.sh", "bind", "eth3", says=f"{VIRTIO}: vfio-pci (before: virtio-pci)")


def names_the_rest_of_the_group(m):
    m.device(NIC, "ixgbe", "eth1")
    m.device(PORT2, "ixgbe", "eth2")
    m.run("bind.sh", "bind", NIC, says=f"{PORT2} shares {NIC}'s IOMMU group and is with ixgbe")
    out = m.run("bind.sh", "bind", PORT2)
    assert "shares" not in out


def says_when_the_kernel_does_not_follow(m):
    m.device(NIC, "ixgbe", "eth1")
    m.file(f"sys/bus/pci/devices/{NIC}/stubborn")
    m.run(
        "bind.sh", "bind", NIC, code=1,
        says=["did not go to vfio-pci (dmesg may say why)", f"bind.sh unbind {NIC} undoes it"],
    )
    assert m.driver(NIC) is None
    m.run("bind.sh", "unbind", NIC, says=f"{NIC}: ixgbe")
    m.run("bind.sh", "bind", "--driver", "absent", NIC, code=1, says="cannot load absent")
    assert m.driver(NIC) == "ixgbe"


def explains_itself(m):
    m.run("bind.sh", "--help", says="usage: bind.sh status")
    m.run("bind.sh", code=2, says="status, bind or unbind")
    m.run("bind.sh", "bind", code=2, says="which device?")
    m.run("bind.sh", "bind", "--frob", code=2, says="unknown option '--frob'")
    m.hugepages(0, 2048, 10)
    m.run("hugepages.sh", "--help", says="usage: hugepages.sh show")
    m.run("hugepages.sh", code=2, says="show, reserve AMOUNT or release")
    m.run("hugepages.sh", "reserve", code=2)
    for amount in "0M", "5", "1X", "-3M", "M", "1G1", "08M", "1.5G":
        m.run("hugepages.sh", "reserve", amount, code=2)
    m.run("hugepages.sh", "--size", "4M", "show", code=2, says="--size is 2M or 1G")


def reserves_on_every_node(m):
    for node in 0, 1:
        m.hugepages(node, 2048, 1000)
        m.hugepages(node, 1048576, 4)
    m.run(
        "hugepages.sh", "reserve", "512M",
        says=["node 0: 256 pages of 2 MiB", "node 1: 256 pages", "vm.nr_hugepages = 512"],
    )
    assert m.pages(0, 2048) == "256" and m.pages(1, 2048) == "256"
    m.run(
        "hugepages.sh", "reserve", "--size", "1G", "--node", "1", "2G",
        says=["node 1: 2 pages of 1 GiB", "hugepagesz=1G hugepages=2"],
    )
    assert m.pages(0, 1048576) == "0" and m.pages(1, 1048576) == "2"
    m.run("hugepages.sh", "show", says="node 1  1 GiB         2 pages,      0 free")
    m.run("hugepages.sh", "release", says="node 0: no pages of 2 MiB left")
    assert m.pages(0, 2048) == "0" and m.pages(1, 1048576) == "2"


def rounds_up_to_whole_pages(m):
    m.hugepages(0, 2048, 1000)
    m.hugepages(0, 1048576, 4)
    m.run("hugepages.sh", "reserve", "3M", says="node 0: 2 pages of 2 MiB")
    m.run("hugepages.sh", "reserve", "--size", "1G", "1025M", says="node 0: 2 pages of 1 GiB")


def says_when_memory_is_short(m):
    m.hugepages(0, 2048, 1000)
    m.hugepages(1, 2048, 7)
    m.run(
        "hugepages.sh", "reserve", "64M", code=1,
        says=["node 0: 32 pages", "node 1: only 7 of 32 pages", "drop_caches"],
    )
    m.run(
        "hugepages.sh", "--node", "2", "reserve", "64M", code=1,
        says="no NUMA node 2 (there are: 0 1)",
    )
    m.run(
        "hugepages.sh", "--size", "1G", "reserve", "1G", code=1,
        says="node 0 has no pages of 1 GiB",
    )


TESTS = (
    binds_and_gives_back,
    goes_back_to_what_it_remembers,
    refuses_what_is_in_use,
    refuses_what_it_must_not_bind,
    one_bad_name_moves_nothing,
    asks_for_an_iommu,
    names_the_rest_of_the_group,
    says_when_the_kernel_does_not_follow,
    explains_itself,
    reserves_on_every_node,
    rounds_up_to_whole_pages,
    says_when_memory_is_short,
)


def main(scripts):
    failed = 0
    print(f"1..{len(TESTS)}")
    for number, test in enumerate(TESTS, 1):
        with tempfile.TemporaryDirectory(prefix="millrace-cfg-") as root:
            try:
                test(Machine(scripts, root))
                print(f"ok {number} - {test.__name__}")
            except (AssertionError, OSError) as error:
                failed += 1
                print(f"not ok {number} - {test.__name__}")
                print("".join(f"# {line}\n" for line in str(error).splitlines()), end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
