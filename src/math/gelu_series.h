/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gelu_series.h - the polynomial of GELU, lowest power first, for every instruction
 * set.
 */
#ifndef INV_GELU_SERIES_H
#define INV_GELU_SERIES_H

/*
 * Phi(t) - 1/2 is t times an even function of t, here a polynomial of degree 14 in t^2
 * about the middle of [0, 5.4^2], where its coefficients are small; fitted by reweighted
 * least squares, off by at most 3e-8. Below -5.4 Phi is 0.
 */
enum { INV_GELU_TERMS = 15 };
#define INV_GELU_END 5.4
static const float inv_gelu_series[INV_GELU_TERMS] = {
	0.13092811405658722f,    -0.06532805413007736f,   0.048499591648578644f,
	-0.039206814020872116f,  0.0321165956556797f,     -0.025746457278728485f,
	0.019645143300294876f,   -0.013963320292532444f,  0.00965119618922472f,
	-0.0067153386771678925f, 0.0036589212249964476f,  -0.0011864100815728307f,
	0.0008749347180128098f,  -0.0010283689480274916f, 0.0003928584628738463f,
};

#endif
