/* SPDX-License-Identifier: Apache-2.0 */
/* tsne.h - the options of invar_tsne. */
#ifndef INV_TSNE_H
#define INV_TSNE_H

#include "base/options.h"

invar_status inv_tsne_declare(invar_options *o);

#endif
