# SPDX-License-Identifier: Apache-2.0
"""tiff_writer.py - writes TIFF files in the layouts that Pillow reads but does not write:
tiles, planes, strips of any height, both byte orders, BigTIFF, predictors. Needs NumPy and,
for JPEG, Pillow."""
import io
import struct
import zlib

import numpy as np
from PIL import Image

SHORT, LONG, LONG8 = 3, 4, 16
CODE = {"none": 1, "lzw": 5, "jpeg": 7, "deflate": 8, "packbits": 32773}
GREY, RGB, PALETTE, CMYK, YCBCR = 1, 2, 3, 5, 6


def packbits(data):
    """Runs of equal bytes, and the rest as it is."""
    out, i, literal = bytearray(), 0, bytearray()

    def flush():
        while literal:
            part = bytes(literal[:128])
            del literal[:128]
            out.append(len(part) - 1)
            out.extend(part)

    while i < len(data):
        run = 1
        while run < 128 and i + run < len(data) and data[i + run] == data[i]:
            run += 1
        if run >= 3:
            flush()
            out.extend((257 - run, data[i]))
        else:
            literal.extend(data[i:i + run])
        i += run
    flush()
    return bytes(out)


def lzw(data):
    """TIFF's variant: the highest bit first, and codes grow one code early."""
    out, bits, held = bytearray(), 0, 0

    def put(code, width):
        nonlocal bits, held
        held = held << width | code
        bits += width
        while bits >= 8:
            bits -= 8
            out.append(held >> bits & 255)
        held &= (1 << bits) - 1

    table, width, text = {bytes([i]): i for i in range(256)}, 9, b""
    put(256, width)
    for byte in data:
        longer = text + bytes([byte])
        if longer in table:
            text = longer
            continue
        put(table[text], width)
        table[longer] = len(table) + 2
        if len(table) + 2 == 4094:
            put(256, width)
            table, width = {bytes([i]): i for i in range(256)}, 9
        elif len(table) + 2 == (1 << width):
            width += 1
        text = bytes([byte])
    if text:
        put(table[text], width)
        if len(table) + 3 == (1 << width):
            width += 1
    put(257, width)
    if bits:
        put(0, 8 - bits)
    return bytes(out)


def pack_rows(block, bits):
    """[h, w, samples] to bytes per row; fewer than 8 bits are packed, rows end at bytes."""
    if bits >= 8:
        return block
    flat = block.reshape(block.shape[0], -1).astype("u1")
    spread = (flat[..., None] >> np.arange(bits - 1, -1, -1)) & 1
    return np.packbits(spread.reshape(flat.shape[0], -1), axis=1)


def predict(block):
    left = np.zeros_like(block)
    left[:, 1:] = block[:, :-1]
    return block - left


def jpeg(block):
    """A whole JPEG file, grey or with colour at half resolution: its photometric is YCBCR."""
    out = io.BytesIO()
    if block.shape[2] == 1:
        Image.fromarray(block[..., 0]).save(out, "JPEG", quality=85, subsampling=0)
    else:
        Image.fromarray(block).save(out, "JPEG", quality=85, subsampling=2)
    return out.getvalue()


def coded(block, bits, order, compression, predictor):
    if compression == "jpeg":
        return jpeg(block)
    if predictor == 2:
        block = predict(block)
    block = pack_rows(block, bits)
    data = block.astype(order + "u2").tobytes() if bits == 16 else block.astype("u1").tobytes()
    if compression == "deflate":
        return zlib.compress(data, 6)
    if compression == "packbits":  # runs stay within a row
        return b"".join(packbits(np.ascontiguousarray(row).astype(order + "u2" if bits == 16 else "u1").tobytes())
                        for row in block)
    return lzw(data) if compression == "lzw" else data


def pieces(samples, tile, rows, planar):
    planes = [samples[..., k:k + 1] for k in range(samples.shape[2])] if planar == 2 else [samples]
    for plane in planes:
        h, w = plane.shape[:2]
        if not tile:
            for y in range(0, h, rows):
                yield plane[y:y + rows]
            continue
        for y in range(0, h, tile[1]):
            for x in range(0, w, tile[0]):
                part = plane[y:y + tile[1], x:x + tile[0]]
                yield np.pad(part, ((0, tile[1] - part.shape[0]), (0, tile[0] - part.shape[1]), (0, 0)))


def write(path, samples, photometric, bits=8, compression="none", tile=None, rows=None, planar=1,
          predictor=1, big_endian=False, big=False, extra=(), orientation=1, palette=None, more=()):
    """samples is [h, w, n] of integers below 1 << bits; tile is (width, height), a multiple of 16 each."""
    order = ">" if big_endian else "<"
    rows = rows or samples.shape[0]
    data = [coded(p, bits, order, compression, predictor) for p in pieces(samples, tile, rows, planar)]
    head = 16 if big else 8
    offsets, at = [], head
    for part in data:
        offsets.append(at)
        at += len(part) + (len(part) & 1)
    pointer = LONG8 if big else LONG
    tags = [(256, LONG, [samples.shape[1]]), (257, LONG, [samples.shape[0]]),
            (258, SHORT, [bits] * samples.shape[2]), (259, SHORT, [CODE[compression]]),
            (262, SHORT, [photometric]), (274, SHORT, [orientation]), (277, SHORT, [samples.shape[2]]),
            (284, SHORT, [planar])]
    if tile:
        tags += [(322, LONG, [tile[0]]), (323, LONG, [tile[1]]), (324, pointer, offsets),
                 (325, LONG, [len(p) for p in data])]
    else:
        tags += [(278, LONG, [rows]), (273, pointer, offsets), (279, LONG, [len(p) for p in data])]
    if predictor != 1:
        tags.append((317, SHORT, [predictor]))
    if len(extra):
        tags.append((338, SHORT, list(extra)))
    if palette is not None:
        tags.append((320, SHORT, list(palette)))
    if photometric == YCBCR:
        tags.append((530, SHORT, [2, 2]))
    tags += list(more)
    with open(path, "wb") as f:
        f.write(directory_start(order, big, at))
        for part in data:
            f.write(part + b"\0" * (len(part) & 1))
        f.write(directory(tags, order, big, at))


def directory_start(order, big, at):
    mark = b"MM" if order == ">" else b"II"
    return mark + (struct.pack(order + "HHHQ", 43, 8, 0, at) if big else struct.pack(order + "HI", 42, at))


def directory(tags, order, big, at):
    letter = {SHORT: "H", LONG: "I", LONG8: "Q"}
    entry, inline = (20, 8) if big else (12, 4)
    after = at + (8 if big else 2) + entry * len(tags) + (8 if big else 4)
    entries, values = b"", b""
    for tag, kind, numbers in sorted(tags):
        value = struct.pack(order + "%d%s" % (len(numbers), letter[kind]), *numbers)
        if len(value) > inline:
            place = struct.pack(order + ("Q" if big else "I"), after + len(values))
            values += value + b"\0" * (len(value) & 1)
        else:
            place = value.ljust(inline, b"\0")
        entries += struct.pack(order + ("HHQ" if big else "HHI"), tag, kind, len(numbers)) + place
    count = struct.pack(order + ("Q" if big else "H"), len(tags))
    return count + entries + (b"\0" * (8 if big else 4)) + values
