/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stop.h - named points at which a test stops the program.
 *
 * A test that must stop the program at a certain moment cannot find that moment by
 * sleeping or by polling files. It sets INVAR_TEST_STOP instead, and the program stops
 * itself there:
 *
 *     INVAR_TEST_STOP='POINT=ACTION[,ACTION…]'
 *
 * POINT is the name of a point ("train:epoch 3"), a beginning of it followed by '*'
 * ("stage:train*"), or a number N: the N-th point that is passed, whatever its name is.
 * Without a number, the first point that fits is meant; afterwards nothing more happens.
 * ACTION is one of
 *
 *     kill        SIGKILL
 *     int, term   SIGINT, SIGTERM to this thread, which goes on until it checks for them
 *     stop        SIGSTOP: hangs
 *     pause:PATH  creates the file PATH, then waits until it is removed, 10 minutes at most
 *     list        passes all points and prints their names on standard error
 *
 * Several actions are done in turn: "svd=term,pause:here" is a signal during an SVD that
 * never ends. The points:
 *
 *     apply:rows          an adapter is about to be applied to rows
 *     encode:pass TITLE   rows of a split can be written, and no image of it was read yet
 *     encode:block N      N blocks of the split are encoded, saved and in its map
 *     encode:flush TITLE  all blocks of the split that are complete are in its map
 *     eval:METRIC of RUN  a metric was measured, and is not saved yet
 *     features:open PATH  features can be written, and no image was read yet
 *     file:locked PATH    another process writes the file: this one waits
 *     file:written PATH   a file is complete under its temporary name
 *     file:saved PATH     it has its name; its folder is not flushed yet
 *     folder:exchange P   two folders are about to exchange their names
 *     folder:exchanged P  they have exchanged them
 *     folder:remove PATH  a file or an empty folder of ours is about to be removed
 *     pipe:read           a pipe is about to be read
 *     stage:NAME          a stage of a study has begun
 *     svd, eigen          LAPACK is about to be called, which nothing can stop
 *     train:forward N     in mid-step: step N has its batch, and no loss yet; on every rank
 *     train:step N        step N is done, counted from the first epoch
 *     train:epoch N       N epochs are done and logged; the last has no checkpoint yet
 *
 * While INVAR_TEST_STOP is set, encoding saves its map after each block; it depends on the
 * clock otherwise. INVAR_TEST_PATIENCE=MILLISECONDS replaces the time after which the
 * program no longer waits for an orderly end (cli/term.h): a test of an orderly end sets a
 * long one, as it may take any time on a busy machine.
 *
 * Points exist only in builds with tests (-Dtests=true); elsewhere they compile to nothing.
 */
#ifndef INV_TEST_STOP_H
#define INV_TEST_STOP_H

#include <stdbool.h>

#ifdef INV_TEST_STOPS
__attribute__((format(printf, 1, 2))) void inv_test_stop(const char *format, ...);
/* INVAR_TEST_STOP is set. */
bool inv_test_stop_is_set(void);
#else
#define inv_test_stop(...) ((void)0)
#define inv_test_stop_is_set() false
#endif

#endif
