#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_network.sh INVAR MAKE - four ranks, each in a network namespace and with a host name of its own,
# joined by veth: the same bank and adapter as on one machine. One rank is killed in mid-encoding and
# one in mid-training, one of each is stopped, so that it hangs: the run ends with a message within 30
# seconds, and it resumes to the same bytes.
# Needs root and `ip`; skipped without.
set -eu
invar=$(realpath "$1") make=$(realpath "$2")
. "$(dirname "$0")/mpi_common.sh"
[ "$(id -u)" = 0 ] && command -v ip >/dev/null || { echo "needs root and ip"; exit 77; }
net=inv$$ nodes="1 2 3 4"
ip netns add $net-0 2>/dev/null || { echo "no network namespaces here"; exit 77; }
work=$(mktemp -d)
clean_up() {
	for i in 0 $nodes; do
		ip netns pids $net-$i 2>/dev/null | xargs -r kill -9 2>/dev/null || true
		ip netns del $net-$i 2>/dev/null || true
	done
	rm -rf "$work"
}
trap clean_up EXIT
cd "$work"

# Namespace 0 has the bridge, and mpirun.
ip -n $net-0 link add bridge type bridge 2>/dev/null || { echo "no bridges here"; exit 77; }
ip -n $net-0 addr add 10.77.0.100/24 dev bridge
ip -n $net-0 link set bridge up
ip -n $net-0 link set lo up
for i in $nodes; do
	ip netns add $net-$i
	ip link add wire netns $net-$i type veth peer name wire$i netns $net-0
	ip -n $net-$i addr add 10.77.0.$i/24 dev wire
	ip -n $net-$i link set wire up
	ip -n $net-$i link set lo up
	ip -n $net-0 link set wire$i master bridge
	ip -n $net-0 link set wire$i up
	mkdir -p "$work/tmp-$i"
done
ip netns exec $net-0 ping -q -c 1 -W 5 10.77.0.4 >/dev/null 2>&1 || sleep 2

# What mpirun calls instead of ssh: HOST COMMAND…
cat >agent <<TEXT
#!/bin/sh
node=\${1##*.}
shift
exec ip netns exec $net-\$node unshare --uts sh -c "hostname node\$node; export TMPDIR=$work/tmp-\$node; \$*"
TEXT
chmod +x agent
unset OMPI_MCA_btl_tcp_if_include OMPI_MCA_oob_tcp_if_include
spread() {
	ip netns exec $net-0 unshare --uts sh -c 'hostname head; exec "$@"' sh mpirun -n 4 --host 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 \
		--mca plm_rsh_agent "$work/agent" --mca plm_rsh_no_tree_spawn 1 --mca btl self,tcp \
		--mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
		-x OMP_WAIT_POLICY --wdir "$work" "$@"
}

# A run that is under way gets a signal on one rank, once it has gone further than BEFORE (progress counts that):
# it ends with a message within 30 seconds.
strike() {
	local stage=$1 signal=$2 rank=$3 out=$4 before=$5 run=$6 code=0 began
	until [ "$(progress "$out")" -gt "$before" ]; do
		sleep 0.02
		kill -0 "$run" 2>/dev/null || { cat error; fail "$stage ended before rank $rank got $signal"; }
	done
	began=$(date +%s)
	kill -"$signal" "$(process_of "$rank" "-o $out")"
	wait "$run" || code=$?
	took=$(($(date +%s) - began))
	[ $code != 0 ] && [ $took -le 30 ] && [ -s error ] || { cat error; fail "$stage: exit $code after $took s"; }
	echo "$stage ended $took s after $signal of rank $rank: $(grep -m 1 -i 'killed\|answered\|rank' error)"
	[ "$signal" != STOP ] || grep -q "rank $rank has not answered for 20 seconds" error || { cat error; fail "$stage: no word of rank $rank"; }
	[ "$signal" != STOP ] || [ "$(grep -c '^invar' error)" = 1 ] || { cat error; fail "$stage: more than one message"; }
	# The launcher ends a stopped process some seconds after the others.
	for _ in {1..150}; do
		[ -n "$(process_of "$rank" "-o $out")" ] || return 0
		sleep 0.1
	done
	fail "$stage: rank $rank is still there"
}

# --- Encoding
{
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (4000, 32, 32), }"
	seq 1 4000000 | head -c $((4000 * 32 * 32))
} >x.npy
options=(npy:x.npy --encoder pixels --augment rotation+noise --copies 60 --threads 1 -q)
"$invar" encode "${options[@]}" -o whole
progress() { cat "$1"/*/done.part 2>/dev/null | cut -c66- | tr -cd 1 | wc -c; }
spread "$invar" encode "${options[@]}" -o struck 2>error &
strike encoding KILL 2 struck 0 $!
spread "$invar" encode "${options[@]}" -o struck 2>error &
strike encoding STOP 1 struck "$(progress struck)" $!
spread "$invar" encode "${options[@]}" -o struck
diff -r whole struck || fail "the bank differs"

# --- Training
"$make" bank bank 2000 24
options=(--hidden 64 --epochs 60 --batch-size 500 --threads 1 --checkpoint-seconds 0 -q)
"$invar" train bank -o whole-run "${options[@]}"
progress() { cat "$1/log.jsonl" 2>/dev/null | wc -l; }
spread "$invar" train bank -o run "${options[@]}" 2>error &
strike training KILL 3 run 3 $!
spread "$invar" train bank -o run "${options[@]}" --resume 2>error &
strike training STOP 0 run $(($(progress run) + 3)) $!
spread "$invar" train bank -o run "${options[@]}" --resume
cmp run/adapter.safetensors whole-run/adapter.safetensors || fail "the adapter differs"
