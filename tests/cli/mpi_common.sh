# SPDX-License-Identifier: Apache-2.0
# mpi_common.sh - read by the tests under mpirun: ranks N COMMAND… starts N ranks on this
# machine, over loopback. They share its cores, so that none is bound to one.
export OMP_WAIT_POLICY=passive
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# The same for Open MPI 5, whose mpirun is PRRTE's.
export PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include=lo OMPI_MCA_oob_tcp_if_include=lo

ranks() {
	local n=$1
	shift
	mpirun -n "$n" "$@"
}

fail() {
	echo "$1"
	exit 1
}

# The process of a rank of a program with these words on its command line, where bytes of 0 separate them. Without pgrep,
# which a system that builds packages does not have.
process_of() {
	local rank=$1 words=$2 file pid
	for file in $(LC_ALL=C grep -la -- "${words// /.}" /proc/[0-9]*/cmdline 2>/dev/null || true); do
		pid=${file#/proc/} pid=${pid%/cmdline}
		! tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "OMPI_COMM_WORLD_RANK=$rank" || {
			echo "$pid"
			return
		}
	done
}
