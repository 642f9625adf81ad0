#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# stop.sh INVAR MAKE - one SIGTERM or SIGINT ends whatever is running, with exit 130 and one message: an
# SVD that cannot be stopped, a long training step, a pipe that nobody fills. The signal comes in the
# middle of each; what must not be there is the next point that the program would have passed.
set -u
invar=$(realpath "$1") make=$(realpath "$2")
export OMP_WAIT_POLICY=passive
. "$(dirname "$0")/waits.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# stopped MESSAGE POINT=ACTION NEXT COMMAND…: NEXT is the beginning of a point that is not reached.
stopped() {
	local message=$1 stop=$2 next=$3
	shift 3
	stop_at "$stop,list" "$invar" "$@" <&9 >out 2>err
	[ $code = 130 ] && [ "$(grep -c '^invar:' err)" = 1 ] && grep -q "^invar: $message" err &&
		! grep -q "^$next" err && return
	echo "$stop: invar $*: exit $code: $(cat err)"
	failed=1
}

mkfifo pipe
exec 9<>pipe # nobody writes to it, and it does not end
"$make" bank bank 300 32 || exit 1
"$invar" train --trial=false bank -o run --hidden 32 --epochs 1 -q || exit 1

# Checked for in mid-step: the step is not completed, and the checkpoint is written.
stopped "interrupted; 'invar train" 'train:forward 3=term' 'train:step 3' train --trial=false bank -o long --hidden 64 --epochs 9 -q
[ -s long/checkpoint.safetensors ] || { echo "no checkpoint was written"; failed=1; }

# Not checked for, as the computation never returns: ended from outside of it.
unset INVAR_TEST_PATIENCE
stopped 'interrupted during a computation' 'svd=term,pause:svd' 'eval:' eval bank --metrics collision -q
stopped 'interrupted during a computation' 'svd=int,pause:fit' 'train:' train --trial=false bank -o fitted --init rigid -q
stopped 'interrupted' 'pipe:read=term' 'file:saved' apply run - -o codes.npy -q
[ ! -e codes.npy ] || { echo "codes of nothing"; failed=1; }
exit $failed
