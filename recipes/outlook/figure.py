# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder have in common: intervals, and figures as SVG for light and dark pages."""
import math
from xml.sax.saxutils import escape

T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571}  # Student's t, two-sided 95 %, by degrees of freedom

# The colours of `invar plot`: paper, ink, quiet, line, then series; light and dark.
LIGHT = ("#fbfaf8", "#2b2b2b", "#76736d", "#dedbd5", "#0072b2", "#d55e00", "#009e73", "#a4478a")
DARK = ("#1b1c1e", "#e9e7e2", "#a09d97", "#3a3b3e", "#58a8de", "#f08a4b", "#3fc79c", "#d98cc0")
NAMES = ("paper", "ink", "quiet", "line", "c0", "c1", "c2", "c3")


def t_interval(values):
    """(mean, half width)."""
    n = len(values)
    mean = sum(values) / n
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1))
    return mean, T95[n - 1] * deviation / math.sqrt(n)


def style(colours):
    return "".join(".%s{fill:%s}.%s-s{stroke:%s;fill:none}" % (n, c, n, c) for n, c in zip(NAMES, colours))


class Drawing:
    def __init__(self, width, height, title):
        self.lines = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" '
                      'font-family="sans-serif" font-size="12" role="img">' % (width, height, width, height),
                      "<title>%s</title>" % escape(title),
                      "<style>%s@media (prefers-color-scheme: dark){%s}</style>" % (style(LIGHT), style(DARK)),
                      '<rect class="paper" width="100%" height="100%"/>']

    def text(self, x, y, words, kind="ink", anchor="start", more=""):
        self.lines.append('<text class="%s" x="%.1f" y="%.1f" text-anchor="%s"%s>%s</text>' % (kind, x, y, anchor, more, escape(words)))

    def line(self, x1, y1, x2, y2, kind="line", width=1.0):
        self.lines.append('<line class="%s-s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke-width="%.1f"/>' % (kind, x1, y1, x2, y2, width))

    def mark(self, x, y, series, size=4.5):
        """A shape as well as a colour for each series."""
        s = size
        shapes = ('<circle class="%s" cx="{x:.1f}" cy="{y:.1f}" r="{s}"/>',
                  '<path class="%s" d="M{x:.1f} {y:.1f}m-{s} -{s}h{d}v{d}h-{d}z"/>',
                  '<path class="%s" d="M{x:.1f} {y:.1f}m0 -{t}l{t} {t}l-{t} {t}l-{t} -{t}z"/>',
                  '<path class="%s" d="M{x:.1f} {y:.1f}m0 -{t}l{t} {d}h-{w}z"/>')
        self.lines.append((shapes[series] % ("c%d" % series)).format(x=x, y=y, s=s, d=2 * s, t=1.3 * s, w=2.6 * s))

    def finish(self):
        return "\n".join(self.lines + ["</svg>", ""])


def legend(drawing, x, y, titles):
    for i, title in enumerate(titles):
        drawing.mark(x, y - 4, i)
        drawing.text(x + 10, y, title)
        x += 34 + 6.6 * len(title)


def ticks(low, high, wanted=6):
    step = 10 ** math.floor(math.log10((high - low) / wanted))
    step *= next(k for k in (1, 2, 5, 10) if (high - low) / (k * step) <= wanted)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def intervals_figure(groups, series, axis):
    """groups: (title, [(row, [(mean, half width) or None per series])]); a vertical line at 0."""
    found = [v for _, rows in groups for _, values in rows for v in values if v]
    low = min(min(m - h for m, h in found), 0)
    high = max(max(m + h for m, h in found), 0)
    pad = 0.04 * (high - low)
    low, high = low - pad, high + pad
    left, right, row, gap = 200, 20, 26, 30
    height = 60 + sum(gap + row * len(rows) for _, rows in groups) + 44
    drawing = Drawing(760, height, axis)
    place = lambda v: left + (v - low) / (high - low) * (760 - left - right)
    bottom = height - 44
    legend(drawing, 24, 26, series)
    for tick in ticks(low, high, 9):
        drawing.line(place(tick), 44, place(tick), bottom, "ink" if abs(tick) < 1e-9 else "line")
        drawing.text(place(tick), bottom + 16, "%g" % round(tick, 6), "quiet", "middle")
    drawing.text(left + (760 - left - right) / 2, height - 10, axis, "quiet", "middle")
    y = 44
    for title, rows in groups:
        y += gap
        drawing.text(14, y - 10, title, "ink", "start", ' font-weight="bold"')
        for name, values in rows:
            drawing.text(left - 12, y + 10, name, "quiet", "end")
            for i, value in enumerate(values):
                if value:
                    at = y + 6 + (i - (len(values) - 1) / 2) * 10
                    drawing.line(place(value[0] - value[1]), at, place(value[0] + value[1]), at, "c%d" % i, 1.6)
                    drawing.mark(place(value[0]), at, i, 3.6)
            y += row
    return drawing.finish()


def scatter_figure(panels, series, axis):
    """panels: (title, [[(x, y)] per series]); side by side, x from 0."""
    width, height, top, bottom = 760, 350, 62, 296
    drawing = Drawing(width, height, axis)
    legend(drawing, 24, 24, series)
    for p, (title, points) in enumerate(panels):
        left, right = 52 + p * 376, 364 + p * 376
        xs, ys = [x for s in points for x, _ in s], [y for s in points for _, y in s]
        x1 = 1.05 * max(xs)
        pad = 0.07 * (max(ys) - min(ys))
        y0, y1 = min(ys) - pad, max(ys) + pad
        at = lambda x, y: (left + x / x1 * (right - left), bottom - (y - y0) / (y1 - y0) * (bottom - top))
        for tick in ticks(y0, y1):
            y = at(0, tick)[1]
            drawing.line(left, y, right, y)
            drawing.text(left - 6, y + 4, "%g" % round(tick, 6), "quiet", "end")
        for tick in ticks(0, x1):
            drawing.text(at(tick, y0)[0], bottom + 16, "%g" % round(tick, 6), "quiet", "middle")
        drawing.line(left, bottom, right, bottom, "quiet")
        drawing.text(left, top - 10, title)
        drawing.text((left + right) / 2, bottom + 36, axis, "quiet", "middle")
        for i, s in enumerate(points):
            for x, y in s:
                drawing.mark(*at(x, y), i)
    return drawing.finish()
