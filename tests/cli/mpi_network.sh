#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpi_network.sh INVAR MAKE - four ranks, each in a network namespace and with a host name of its own,
# joined by veth: the same bank and adapter as on one machine. One rank is killed in mid-encoding and
# one in mid-training, one of each is stopped, so that it hangs: the run ends with a message, by the
# launcher or by the time limit of collective calls, and it resumes to the same bytes.
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
# Nothing listens there, which is an answer of the other side.
is_reached() { ip netns exec $net-0 timeout 5 bash -c "LC_ALL=C; exec 3<>/dev/tcp/10.77.0.$1/9" 2>&1 | grep -q refused; }
for i in $nodes; do
	wait_for $$ is_reached $i
done

# What mpirun calls instead of ssh: HOST COMMAND…
cat >agent <<TEXT
#!/bin/sh
node=\${1##*.}
shift
exec ip netns exec $net-\$node unshare --uts sh -c "hostname node\$node; export TMPDIR=$work/tmp-\$node; \$*"
TEXT
chmod +x agent
export INVAR_RANKS_TIMEOUT=10
unset OMPI_MCA_btl_tcp_if_include OMPI_MCA_oob_tcp_if_include
spread() {
	timeout -k 10 "$hang" ip netns exec $net-0 unshare --uts sh -c 'hostname head; exec "$@"' sh mpirun -n 4 --host 10.77.0.1,10.77.0.2,10.77.0.3,10.77.0.4 \
		--mca plm_rsh_agent "$work/agent" --mca plm_rsh_no_tree_spawn 1 --mca btl self,tcp \
		--mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 \
		-x OMP_WAIT_POLICY -x INVAR_RANKS_TIMEOUT --wdir "$work" "$@"
}

# strike ACTION RANK POINT COMMAND…: one rank is killed or stopped at a point: the run ends with a message, and leaves no process.
strike() {
	local action=$1 rank=$2 point=$3
	shift 3
	limited spread "${only[@]}" "$rank" "$point=$action" "$@" 2>error
	[ $code != 0 ] && [ -s error ] || { cat error; fail "$action of rank $rank at $point: exit $code"; }
	echo "$action of rank $rank at $point: $(grep -m 1 -i 'killed\|answer\|rank' error)"
	[ "$action" = kill ] || grep -q 'no answer for 10 seconds, one of them hangs' error || { cat error; fail "no word of rank $rank"; }
	[ "$action" = kill ] || [ "$(grep -c '^invar' error)" = 1 ] || { cat error; fail "more than one message"; }
	# The launcher ends a stopped process some seconds after the others.
	wait_for $$ is_gone "$(cat rank.pid)"
}
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# --- Encoding
{
	printf '\223NUMPY\001\000\166\000'
	printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (4000, 32, 32), }"
	seq 1 4000000 | head -c $((4000 * 32 * 32))
} >x.npy
options=(npy:x.npy --encoder pixels --augment rotation+noise --copies 12 --threads 1 -q)
"$invar" encode "${options[@]}" -o whole
strike kill 2 'encode:block 1' "$invar" encode "${options[@]}" -o struck
strike stop 1 'encode:block 1' "$invar" encode "${options[@]}" -o struck
spread "$invar" encode "${options[@]}" -o struck
diff -r whole struck || fail "the bank differs"

# --- Training
"$make" bank bank 2000 24
options=(--hidden 64 --epochs 60 --batch-size 500 --threads 1 --checkpoint-seconds 0 -q)
"$invar" train --trial=false bank -o whole-run "${options[@]}"
strike kill 3 'train:forward 30' "$invar" train --trial=false bank -o run "${options[@]}"
strike stop 0 'train:forward 60' "$invar" train --trial=false bank -o run "${options[@]}" --resume
spread "$invar" train --trial=false bank -o run "${options[@]}" --resume
cmp run/adapter.safetensors whole-run/adapter.safetensors || fail "the adapter differs"
