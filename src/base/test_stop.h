/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_stop.h - named points at which a test stops the program.
 *
 * A test that must stop the program at a certain moment cannot find that moment by
 * sleeping or by polling files. It sets INVAR_TEST_STOP instead, and the program stops
 * itself there:
 *
 *     INVAR_TEST_STOP='POINT=ACTION'
 *
 * POINT is the name of a point ("train:epoch 3"), a beginning of it followed by '*'
 * ("stage:train*"), or a number N: the N-th point that is passed, whatever its name is.
 * Without a number, the first point that fits is meant; afterwards nothing more happens.
 * ACTION is one of
 *
 *     kill        SIGKILL
 *     int, term   SIGINT, SIGTERM to this process, which goes on until it checks for them
 *     stop        SIGSTOP: hangs
 *     pause:PATH  creates the file PATH, then waits until it is removed (10 minutes at
 * most) list        passes all points and prints their names on standard error
 *
 * Points exist only in builds with tests (-Dtests=true); elsewhere they compile to nothing.
 */
#ifndef INV_TEST_STOP_H
#define INV_TEST_STOP_H

#ifdef INV_TEST_STOPS
__attribute__((format(printf, 1, 2))) void inv_test_stop(const char *format, ...);
#else
#define inv_test_stop(...) ((void)0)
#endif

#endif
