/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_page.js FOLDER PAGE… - opens pages of `invar report` in Chromium and looks at them.
 *
 * PAGE is NAME.html in FOLDER; NAME.sections beside it lists the sections that it must have.
 * Screenshots and PDFs are written beside the page. playwright-core is found in FOLDER.
 */
'use strict';
const fs = require('fs');
const path = require('path');
const [, , folder, ...pages] = process.argv;
const {chromium} = require(path.resolve(folder, 'node_modules/playwright-core'));

const maxPhone = 8000; /* pixels of a page on a phone, before anything is unfolded */
let failures = 0;
function expect(page, holds, sentence) {
	if (holds)
		return;
	failures++;
	console.error(`${page}: ${sentence}`);
}

/* ---- What is looked at inside the page ------------------------------------------------- */

/* Elements that reach beyond the window, unless something around them scrolls or hides. */
function overflowing() {
	const wide = document.documentElement.clientWidth + 1, found = [];
	for (const e of document.body.querySelectorAll('*')) {
		const box = e.getBoundingClientRect();
		if (box.width && box.right > wide && !e.closest('.scroll, pre, svg, nav, .found h4, .thumb figcaption, [hidden]'))
			found.push(`${e.tagName}.${e.className} ${Math.round(box.right)}`);
	}
	return {page: document.documentElement.scrollWidth - document.documentElement.clientWidth, found: found.slice(0, 5)};
}

/* What is visible of every line of text: clipped by whatever around it scrolls or hides. */
function linesOfText() {
	const lines = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walker.nextNode());) {
		if (!node.textContent.trim() || node.parentElement.closest('script, style, title') || !node.parentElement.checkVisibility())
			continue;
		const range = document.createRange();
		range.selectNodeContents(node);
		for (const r of range.getClientRects()) {
			const box = {left: r.left, right: r.right, top: r.top, bottom: r.bottom, text: node.textContent.trim().slice(0, 30), node};
			for (let e = node.parentElement; e && e !== document.body; e = e.parentElement)
				if (getComputedStyle(e).overflowX !== 'visible') {
					const clip = e.getBoundingClientRect();
					box.left = Math.max(box.left, clip.left);
					box.right = Math.min(box.right, clip.right);
				}
			if (box.right - box.left > 1)
				lines.push(box);
		}
	}
	return lines;
}

/* Texts over each other; line boxes may touch, as they are higher than letters. */
function overlapping(linesOfText) {
	const lines = linesOfText().sort((a, b) => a.top - b.top), found = [];
	for (let i = 0; i < lines.length; i++)
		for (let k = i + 1; k < lines.length && lines[k].top < lines[i].bottom; k++) {
			const a = lines[i], b = lines[k], high = Math.min(a.bottom, b.bottom) - b.top, wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
			if (a.node !== b.node && wide > 2 && high > 0.45 * Math.min(a.bottom - a.top, b.bottom - b.top))
				found.push(`'${a.text}' lies on '${b.text}'`);
		}
	return found.slice(0, 5);
}

/* Heads of tables that break inside a word, numbers of cards that wrap, cards that touch. */
function broken() {
	const found = [], range = document.createRange();
	for (const th of document.querySelectorAll('thead th')) {
		const walker = document.createTreeWalker(th, NodeFilter.SHOW_TEXT);
		for (let node; (node = walker.nextNode());)
			for (const word of node.textContent.matchAll(/[^\s-]+/g)) {
				range.setStart(node, word.index);
				range.setEnd(node, word.index + word[0].length);
				if (new Set(Array.from(range.getClientRects(), (r) => Math.round(r.top))).size > 1)
					found.push(`the head '${word[0].slice(0, 30)}' breaks`);
			}
	}
	for (const big of document.querySelectorAll('.big')) {
		range.selectNodeContents(big);
		const boxes = Array.from(range.getClientRects()), card = big.closest('.card').getBoundingClientRect();
		if (Math.max(...boxes.map((r) => r.top)) > Math.min(...boxes.map((r) => r.bottom)))
			found.push(`'${big.textContent}' wraps`);
		if (Math.max(...boxes.map((r) => r.right)) > card.right)
			found.push(`'${big.textContent}' leaves its card`);
		for (const other of document.querySelectorAll('.card')) {
			const box = other.getBoundingClientRect();
			if (other !== big.closest('.card') && box.left < card.right + 4 && box.right > card.left - 4 && box.top < card.bottom + 4 && box.bottom > card.top - 4)
				found.push('two cards touch');
		}
	}
	return found.slice(0, 5);
}

/* Figures without marks, pictures without pixels, ids that are used twice. */
function defects() {
	const found = [], ids = new Set();
	for (const svg of document.querySelectorAll('.panel svg')) {
		const box = svg.getBBox();
		if (!(box.width > 50 && box.height > 30) || svg.querySelectorAll('path, rect').length < 3)
			found.push(`empty figure in ${svg.closest('section').id}`);
		if (/NaN|Infinity/.test(svg.outerHTML))
			found.push(`not a number in a figure of ${svg.closest('section').id}`);
	}
	for (const figure of document.querySelectorAll('figure.plot'))
		if (!figure.querySelector('.panel svg') || !figure.querySelector('h3').textContent.trim())
			found.push('a figure without a panel or a title');
	for (const img of document.images)
		if (!img.complete || !img.naturalWidth)
			found.push('a picture that does not decode');
	for (const e of document.querySelectorAll('[id]')) {
		if (ids.has(e.id))
			found.push(`two elements have the id ${e.id}`);
		ids.add(e.id);
	}
	for (const a of document.querySelectorAll('nav a'))
		if (!document.querySelector(a.getAttribute('href')))
			found.push(`${a.getAttribute('href')} leads nowhere`);
	return found;
}

/* Whatever names have brought into the page that is not text. */
function injected() {
	const found = [], allowed = new Set(['invar-results', 'invar-pictures', '']);
	for (const s of document.scripts)
		if (!allowed.has(s.id))
			found.push(`script ${s.id}`);
	if (document.scripts.length > 3 || document.querySelectorAll('style').length !== 1)
		found.push('a script or a style sheet too many');
	for (const e of document.querySelectorAll('*')) {
		for (const a of e.attributes)
			if (/^on/i.test(a.name) || /^\s*(javascript|https?|\/\/)/i.test(a.value) && a.name !== 'xmlns' && a.name !== 'xmlns:xlink')
				found.push(`${e.tagName} ${a.name}=${a.value.slice(0, 40)}`);
		if (/^(iframe|object|embed|link|form|base)$/i.test(e.tagName))
			found.push(e.tagName);
	}
	if (window.hacked !== undefined)
		found.push('a script of a name ran');
	if (/[\u202a-\u202e\u2066-\u2069\u2028\u2029\u0080-\u009f\ufeff\u0000-\u0008]/.test(document.body.innerText))
		found.push('control characters are shown');
	for (const e of document.querySelectorAll('bdi, figcaption, th'))
		if (e.children.length === 0 && e.textContent.length > 260)
			found.push(`a text of ${e.textContent.length} characters`);
	return found;
}

/* ---- One page ---------------------------------------------------------------------------- */

async function open(browser, page, options) {
	const context = await browser.newContext(options);
	const tab = await context.newPage();
	tab.on('console', (m) => expect(page, false, `console: ${m.text()}`));
	tab.on('pageerror', (e) => expect(page, false, `error: ${e}`));
	tab.on('dialog', (d) => { expect(page, false, 'a dialog'); d.dismiss(); });
	tab.on('request', (r) => expect(page, /^(file|data):/.test(r.url()), `loads ${r.url().slice(0, 80)}`));
	const began = Date.now();
	await tab.goto('file://' + path.resolve(folder, page), {waitUntil: 'load'});
	return {context, tab, ms: Date.now() - began};
}

async function checkLook(browser, page, scheme, width) {
	const {context, tab, ms} = await open(browser, page, {colorScheme: scheme, viewport: {width, height: 900}});
	const name = page.replace(/\.html$/, ''), height = await tab.evaluate(() => document.documentElement.scrollHeight);

	expect(page, width > 400 || height < maxPhone, `is ${height} pixels high at ${width}`);
	await tab.screenshot({path: path.join(folder, `${name}-${scheme}-${width}.png`), fullPage: true});
	for (const unfolded of [false, true]) {
		await tab.evaluate((open) => document.querySelectorAll('details').forEach((d) => { d.open = open; }), unfolded);
		const over = await tab.evaluate(overflowing), at = `at ${width}${unfolded ? ', unfolded' : ''}`;
		expect(page, over.page <= 0, `is ${over.page} pixels too wide ${at}`);
		for (const d of [...over.found, ...await tab.evaluate(`(${overlapping})(${linesOfText})`), ...await tab.evaluate(broken)])
			expect(page, false, `${at}: ${d}`);
	}
	for (const d of await tab.evaluate(defects))
		expect(page, false, d);
	for (const d of await tab.evaluate(injected))
		expect(page, false, d);
	const paper = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
	await context.close();
	return {paper, ms};
}

async function sectionsOf(tab) {
	return tab.evaluate(() => Array.from(document.querySelectorAll('section')).filter((s) => s.innerText.trim()).map((s) => s.id));
}

async function checkSections(browser, page) {
	const wanted = fs.readFileSync(path.join(folder, page.replace(/\.html$/, '.sections')), 'utf8').split(/\s+/).filter(Boolean);
	const plain = await open(browser, page, {javaScriptEnabled: false});
	const with_script = await open(browser, page, {});
	const all = await sectionsOf(with_script.tab);
	/* Without scripts nothing can be evaluated, but text can be read. */
	for (const id of all)
		expect(page, (await plain.tab.locator(`section[id="${id}"]`).innerText()).trim().length > 20, `${id} is empty without JavaScript`);
	for (const id of wanted)
		expect(page, all.includes(id), `the section ${id} is missing`);
	for (const id of all)
		expect(page, wanted.includes(id), `the section ${id} is not expected`);
	await plain.context.close();
	await with_script.context.close();
}

async function checkHover(browser, page) {
	const {context, tab} = await open(browser, page, {viewport: {width: 1400, height: 900}});
	await tab.evaluate(() => document.querySelectorAll('details').forEach((d) => { d.open = true; }));
	const panel = tab.locator('.panel[data-scatter]:has([data-frame])').last();
	if (await panel.count()) {
		await panel.scrollIntoViewIfNeeded();
		const at = await panel.evaluate((p) => {
			const all = JSON.parse(document.getElementById('invar-results').textContent);
			const c = all[+p.dataset.document].scatters.find((s) => s.id === p.dataset.scatter).columns[p.dataset.column];
			const f = p.querySelector('[data-frame]').dataset.frame.split(' ').map(Number);
			const svg = p.querySelector('svg'), box = svg.getBoundingClientRect(), k = box.width / svg.viewBox.baseVal.width;
			return {x: box.left + (c.x[0] * f[0] + f[1]) * k, y: box.top + (c.y[0] * f[2] + f[3]) * k};
		});
		await tab.mouse.move(at.x, at.y);
		expect(page, await tab.locator('.tip').isVisible(), 'nothing is shown for the point under the mouse');
		if (await tab.evaluate(() => document.getElementById('invar-pictures') !== null)) {
			const shown = await tab.evaluate(() => {
				const e = document.querySelector('.tip .atlas');
				return e && getComputedStyle(e).backgroundImage.startsWith('url("data:image/jpeg') && e.offsetWidth > 30;
			});
			expect(page, shown, 'the image of a point is not shown');
		}
		await tab.screenshot({path: path.join(folder, page.replace(/\.html$/, '-hover.png'))});
		for (const d of await tab.evaluate(injected))
			expect(page, false, `under the mouse: ${d}`);
	}
	await context.close();
}

/* Every bar and every mark of a curve says its number. */
async function checkTitles(browser, page) {
	const {context, tab} = await open(browser, page, {});
	const without = await tab.evaluate(() => Array.from(document.querySelectorAll('.panel svg rect[opacity], .panel svg path[stroke-linejoin]'))
		.filter((e) => !/\S/.test(e.querySelector('title')?.textContent || '')).length);
	expect(page, without === 0, `${without} bars or curves have no number for the mouse`);
	await context.close();
}

async function checkPrint(browser, page) {
	const {context, tab} = await open(browser, page, {colorScheme: 'dark'});
	const pdf = await tab.pdf({path: path.join(folder, page.replace(/\.html$/, '.pdf')), format: 'A4'});
	const count = (pdf.toString('latin1').match(/\/Type\s*\/Page\b/g) || []).length;
	expect(page, pdf.length > 20000 && count >= 2 && count < 60, `prints ${count} pages in ${pdf.length} bytes`);
	await tab.emulateMedia({media: 'print', colorScheme: 'dark'});
	const paper = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor);
	expect(page, paper === 'rgb(255, 255, 255)', `prints on ${paper}`);
	const inks = await tab.evaluate(() => ['.iv-ink', 'h2', 'small'].map((s) => document.querySelector(s)).filter(Boolean).map((e) => { const c = getComputedStyle(e); return e.matches('.iv-ink') ? c.fill : c.color; }));
	for (const ink of inks)
		expect(page, ink.match(/\d+/g).slice(0, 3).every((level) => level < 130), `prints ${ink} on white`);
	await context.close();
	return count;
}

async function checkPage(browser, page) {
	const size = fs.statSync(path.join(folder, page)).size, times = [], papers = new Set();

	expect(page, size < 3e6, `has ${size} bytes`);
	for (const scheme of ['light', 'dark'])
		for (const width of [400, 1400]) {
			const {paper, ms} = await checkLook(browser, page, scheme, width);
			papers.add(paper);
			times.push(ms);
		}
	expect(page, papers.size === 2, 'light and dark look the same');
	await checkSections(browser, page);
	await checkHover(browser, page);
	await checkTitles(browser, page);
	const printed = await checkPrint(browser, page);
	times.sort((a, b) => a - b);
	console.log(`${page}: ${(size / 1e6).toFixed(2)} MB, opens in ${times[1]} ms, prints ${printed} pages`);
}

(async () => {
	const browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || '/usr/bin/chromium',
		args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
			'--disable-component-update', '--disable-sync'],
	});
	for (const page of pages)
		await checkPage(browser, page);
	await browser.close();
	if (failures)
		console.error(`${failures} ${failures === 1 ? 'failure' : 'failures'}`);
	process.exit(failures ? 1 : 0);
})();
