/* SPDX-License-Identifier: Apache-2.0 */
/*
 * normal_series.h - the polynomials of Box and Muller's normals in float, lowest power
 * first, for every instruction set.
 */
#ifndef INV_NORMAL_SERIES_H
#define INV_NORMAL_SERIES_H

/* log(1 + f) = f - f^2 / 2 + f^3 (c0 + c1 f + …), for f in [-0.293, 0.415] */
enum { INV_LOG_TERMS = 9 };
static const float inv_log_series[INV_LOG_TERMS] = {
	3.3333331e-1f,  -2.4999994e-1f, 2.0000714e-1f,  -1.6668057e-1f, 1.4249323e-1f,
	-1.2420141e-1f, 1.1676998e-1f,  -1.1514610e-1f, 7.0376836e-2f};

/* sin x = x + x^3 (s0 + s1 x^2 + …), cos x = 1 - x^2 / 2 + x^4 (c0 + …), up to an eighth
 * of a turn */
enum { INV_TURN_TERMS = 3 };
static const float inv_sine_series[INV_TURN_TERMS] = {-1.6666655e-1f, 8.3321609e-3f,
                                                      -1.9515296e-4f};
static const float inv_cosine_series[INV_TURN_TERMS] = {4.1666646e-2f, -1.3887316e-3f,
                                                        2.4433157e-5f};

#endif
