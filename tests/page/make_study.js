/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_study.js FOLDER KIND - data for the pages that check_page.js opens.
 *
 * plain: images in folders of four classes; hostile: the same in twenty classes whose names
 * and file names try to leave the page; arrays: a bank of NumPy arrays without labels.
 */
'use strict';
const fs = require('fs');
const path = require('path');
const zlib = require('zlib');

/* Names as bytes, since not all of them are UTF-8; make_pages adds what needs a slash. */
const hostile = [
	'<script>window.hacked=1', '"><img src=x onerror=window.hacked=1>', '\'onmouseover=\'window.hacked=1',
	'<title><b>bold', '<style><b>bold', ']]><!--', '--><b>bold', '<!--<script>', '&lt;b&gt;&amp;amp;', '\u202egnp.exe',
	'\u2066isolated\u2067', 'line\nbreak', 'tab\tand\rreturn', Buffer.from([0xff, 0xfe, 0xc3, 0x28]), Buffer.from([0xed, 0xa0, 0x80]),
	'Z\u0300\u0301\u0302\u0303\u0304a\u0300\u0301lgo', '\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627', '${7*7}{{7*7}}`', 'a'.repeat(240), '\u2028\u0085\u009b31m\ufeff',
].map((n) => Buffer.from(n));

/* ---- PNG ---------------------------------------------------------------------------- */

function crc(bytes) {
	let c = ~0;
	for (const b of bytes) {
		c ^= b;
		for (let k = 0; k < 8; k++)
			c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
	}
	return ~c >>> 0;
}

function chunk(type, data) {
	const body = Buffer.concat([Buffer.from(type), data]);
	const out = Buffer.alloc(8 + body.length);
	out.writeUInt32BE(data.length, 0);
	body.copy(out, 4);
	out.writeUInt32BE(crc(body), 4 + body.length);
	return out;
}

function png(side, pixel) {
	const raw = Buffer.alloc(side * (1 + 3 * side));
	for (let y = 0; y < side; y++)
		for (let x = 0; x < side; x++)
			for (let c = 0; c < 3; c++)
				raw[y * (1 + 3 * side) + 1 + 3 * x + c] = Math.max(0, Math.min(255, Math.round(pixel(x, y, c))));
	const head = Buffer.alloc(13);
	head.writeUInt32BE(side, 0);
	head.writeUInt32BE(side, 4);
	head.set([8, 2, 0, 0, 0], 8);
	return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), chunk('IHDR', head),
		chunk('IDAT', zlib.deflateSync(raw)), chunk('IEND', Buffer.alloc(0))]);
}

/* ---- Random numbers, the same every time ---------------------------------------------- */

let state = 12345;
function random() {
	state = (Math.imul(state, 1103515245) + 12345) >>> 0;
	return state / 4294967296;
}
function normal() {
	return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/* ---- Images ---------------------------------------------------------------------------- */

/* Each class has its own spot and colour. */
function image(k, classes) {
	const angle = 2 * Math.PI * k / classes, x0 = 8 + 4 * Math.cos(angle) + normal(), y0 = 8 + 4 * Math.sin(angle) + normal();
	return png(16, (x, y, c) => {
		const near = Math.exp(-((x - x0) ** 2 + (y - y0) ** 2) / 14);
		return 40 + 190 * near * (0.5 + 0.5 * Math.cos(angle + 2.1 * c)) + 12 * normal();
	});
}

function join(...parts) {
	return Buffer.concat(parts.flatMap((p, i) => (i ? [Buffer.from('/'), p] : [p])));
}

function makeImages(folder, classes, names, per) {
	for (let k = 0; k < classes.length; k++) {
		const home = join(Buffer.from(folder), classes[k]);
		fs.mkdirSync(home, {recursive: true});
		for (let i = 0; i < per; i++)
			fs.writeFileSync(join(home, names(k, i)), image(k, classes.length));
	}
}

/* ---- Arrays ---------------------------------------------------------------------------- */

function npy(file, shape, values) {
	let head = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(', ')}), }`;
	head = head.padEnd(117) + '\n';
	const size = Buffer.alloc(2);
	size.writeUInt16LE(head.length, 0);
	fs.mkdirSync(path.dirname(file), {recursive: true});
	fs.writeFileSync(file, Buffer.concat([Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]), size, Buffer.from(head),
		Buffer.from(Float32Array.from(values).buffer)]));
}

function makeArrays(folder) {
	const d = 24, shift = Array.from({length: d}, () => 2 * normal());
	for (const [split, n] of [['train', 300], ['test', 120]]) {
		const clean = Array.from({length: n * d}, () => 3 * normal()), copies = [];
		for (let i = 0; i < n; i++)
			for (let c = 0; c < 2; c++)
				for (let k = 0; k < d; k++)
					copies.push(clean[i * d + k] + shift[k] * random() + 0.3 * normal());
		npy(`${folder}/${split}/clean.npy`, [n, d], clean);
		npy(`${folder}/${split}/aug.npy`, [n, 2, d], copies);
	}
}

const [, , folder, kind] = process.argv;
const plain = ['disc', 'ring', 'spot', 'blob'].map((n) => Buffer.from(n));

if (kind === 'arrays')
	makeArrays(folder);
else if (kind === 'hostile')
	makeImages(folder, hostile, (k, i) => Buffer.concat([hostile[(k + i) % 20].subarray(0, 200), Buffer.from(`${i}.png`)]), 8);
else
	makeImages(folder, plain, (k, i) => Buffer.from(`image${i}.png`), 40);
