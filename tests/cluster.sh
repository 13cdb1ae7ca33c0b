#!/bin/sh
# A Slurm of one node with two CPUs on the loopback address, for the tests that are marked "cluster":
# Debian's packages, installed if they are missing; configuration, keys and logs in a folder of its
# own; what was started is stopped at the end. As root, since slurmd starts jobs.
set -eu
cd "$(dirname "$0")/.."
UV=${UV:-$(command -v uv || echo .venv/bin/uv)}

export PATH="$PATH:/usr/sbin:/sbin"
if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends \
        slurm-wlm munge >/dev/null
fi

work=$(mktemp -d)
chmod 755 "$work"
mkdir "$work/state" "$work/spool"
started=""
stop() {
    for process in $started; do kill "$process" 2>/dev/null || true; done
    for process in $started; do wait "$process" 2>/dev/null || true; done
    rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT TERM

name=$(hostname -s)
memory=$(awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo)
cat >"$work/slurm.conf" <<CONF
ClusterName=theorykit
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=5
NodeName=$name NodeAddr=127.0.0.1 CPUs=2 RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=$name Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$work/slurm.conf"

(umask 077 && head -c 1024 /dev/urandom >"$work/munge.key")
munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.socket" \
    --pid-file="$work/munge.pid" --log-file="$work/munge.log" --seed-file="$work/munge.seed" \
    >"$work/munged.log" 2>&1 &
started="$!"
for _ in $(seq 100); do [ -S "$work/munge.socket" ] && break; sleep 0.2; done
slurmctld -D -i >"$work/slurmctld.log" 2>&1 &
started="$! $started"
slurmd -D >"$work/slurmd.log" 2>&1 &
started="$! $started"
for _ in $(seq 300); do sinfo -h -o %t 2>/dev/null | grep -qx idle && break; sleep 0.2; done
if ! sinfo -h -o %t | grep -qx idle; then
    tail -n 20 "$work"/*.log >&2
    echo "Slurm does not come up" >&2
    exit 1
fi

"$UV" run --no-sync pytest -m "cluster" tests/theorykit/places "$@"
