/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the image of the point that is nearest to the mouse; without it nothing else is lost. */
'use strict';
(function () {
	function read(id) {
		var e = document.getElementById(id);
		return e ? JSON.parse(e.textContent) : null;
	}
	var results = read('invar-results'), pictures = read('invar-pictures'), place = {};
	var tip = document.createElement('div');

	if (!results)
		return;
	tip.className = 'tip';
	tip.hidden = true;
	document.body.appendChild(tip);
	if (pictures)
		pictures.rows.forEach(function (row, i) { place[row] = i; });

	/* The points of a panel, if the document says which rows they are. */
	function points(panel) {
		var d = results[+panel.dataset.document];
		var s = (d.scatters || []).filter(function (s) { return s.id === panel.dataset.scatter; })[0];
		var c = s && s.columns[panel.dataset.column];
		return c && c.row ? {scatter: s, points: c, document: +panel.dataset.document} : null;
	}
	function nearest(c, frame, x, y) {
		var best = -1, least = 144; /* twelve pixels away at most */
		for (var i = 0; i < c.x.length; i++) {
			var a = c.x[i] * frame[0] + frame[1] - x, b = c.y[i] * frame[2] + frame[3] - y;
			if (a * a + b * b < least) {
				least = a * a + b * b;
				best = i;
			}
		}
		return best;
	}
	function say(text) {
		var e = document.createElement('bdi');
		e.textContent = text.length > 60 ? text.slice(0, 59) + '\u2026' : text;
		tip.appendChild(e);
		tip.appendChild(document.createElement('br'));
	}
	function show(k) {
		var e = document.createElement('div'), side = 2 * pictures.side, across = pictures.across;
		e.className = 'atlas';
		e.style.width = e.style.height = side + 'px';
		e.style.backgroundSize = side * across + 'px auto';
		e.style.backgroundPosition = -(k % across) * side + 'px ' + -Math.floor(k / across) * side + 'px';
		tip.appendChild(e);
	}
	function fill(v, i) {
		var c = v.points, k = pictures && pictures.document === v.document ? place[c.row[i]] : undefined;
		tip.textContent = '';
		if (k !== undefined)
			show(k);
		if (c['class'] && c['class'][i] >= 0)
			say(v.scatter.classes[c['class'][i]]);
		if (c.mark && c.mark[i] >= 0)
			say(v.scatter.marks[c.mark[i]]);
		say(k !== undefined && pictures.names ? pictures.names[k] : 'row ' + c.row[i]);
	}
	function follow(panel) {
		var g = panel.querySelector('[data-frame]'), svg = panel.querySelector('svg'), v = points(panel);
		if (!g || !v)
			return;
		var frame = g.dataset.frame.split(' ').map(Number), width = svg.viewBox.baseVal.width;
		function move(e) {
			var box = svg.getBoundingClientRect(), k = width / box.width;
			var i = nearest(v.points, frame, (e.clientX - box.left) * k, (e.clientY - box.top) * k);
			tip.hidden = i < 0;
			if (i < 0)
				return;
			fill(v, i);
			var left = e.clientX + 16, own = tip.offsetWidth;
			if (left + own > document.documentElement.clientWidth - 8)
				left = Math.max(4, e.clientX - own - 16);
			tip.style.left = left + window.scrollX + 'px';
			tip.style.top = e.clientY + 16 + window.scrollY + 'px';
		}
		svg.addEventListener('pointermove', move);
		svg.addEventListener('pointerdown', move);
		svg.addEventListener('pointerleave', function () { tip.hidden = true; });
	}
	document.querySelectorAll('.panel[data-scatter]').forEach(follow);
})();
