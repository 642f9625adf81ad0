/* image.h - the image that data sets give and the rest of this room works on. */
#ifndef INV_IMAGE_H
#define INV_IMAGE_H

#include "formats/pixels.h" /* inv_image: 8-bit RGB, and how it is made and freed */

#endif
