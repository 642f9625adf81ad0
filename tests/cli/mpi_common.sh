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

. "$(dirname "$0")/waits.sh"

ranks() {
	local n=$1
	shift
	timeout -k 10 "$hang" mpirun -n "$n" "$@"
}

# "${only[@]}" RANK POINT=ACTION COMMAND…: the command of a rank, which stops itself if it has this number. Its process is
# left in the file rank.pid.
only=(sh -c '[ "$OMPI_COMM_WORLD_RANK" != "$1" ] || { export INVAR_TEST_STOP="$2"; echo $$ >rank.pid; }
	shift 2; exec "$@"' sh)

# limited COMMAND…: the exit code is left in $code.
limited() {
	code=0
	"$@" || code=$?
	[ $code != 124 ] || give_up "still running after $hang seconds: $*"
}

fail() {
	echo "$1"
	exit 1
}
