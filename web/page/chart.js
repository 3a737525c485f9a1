// Times as points on a scale of powers of ten, a line for each workload.
import { milliseconds } from './dom.js';

const svg = (name, attributes, ...children) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
};

// results: [{ workload: { title }, rows: [{ runner, ms }] }]
export function chart(box, results, runners, label) {
  const narrow = box.clientWidth < 560;
  const width = narrow ? 360 : 900,
    left = narrow ? 12 : 190,
    right = 24,
    line = narrow ? 52 : 44,
    top = 40;
  const all = results.flatMap(({ rows }) => rows.map((r) => r.ms)).filter((ms) => ms > 0);
  if (all.length === 0) return;
  const from = Math.floor(Math.log10(Math.min(...all))),
    to = Math.max(Math.ceil(Math.log10(Math.max(...all))), from + 1);
  const x = (ms) => left + ((Math.log10(ms) - from) / (to - from)) * (width - left - right);
  const height = top + line * results.length + 28;
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img' });
  const told = results.map(
    ({ workload, rows }) =>
      `${workload.title}: ${rows.map((r) => `${label(r.runner)} ${r.ms ? milliseconds(r.ms) : 'wrong'}`).join(', ')}`,
  );
  picture.append(svg('title', {}, `Times; less is better. ${told.join('. ')}.`));
  let at = left;
  for (const runner of runners) {
    picture.append(
      svg('circle', { cx: at + 6, cy: 14, r: 6, class: runner }),
      svg('text', { x: at + 18, y: 18.5 }, label(runner)),
    );
    at += 34 + label(runner).length * 7.6;
  }
  for (let power = from; power <= to; power++) {
    const ms = 10 ** power;
    picture.append(
      svg('line', { x1: x(ms), x2: x(ms), y1: top - 6, y2: height - 26, class: 'axis' }),
      svg(
        'text',
        {
          'x': x(ms),
          'y': height - 8,
          'class': 'soft',
          'text-anchor': power === from ? 'start' : power === to ? 'end' : 'middle',
        },
        ms >= 1000 ? `${ms / 1000} s` : `${ms} ms`,
      ),
    );
  }
  picture.append(
    svg('text', { 'x': width - right, 'y': 18.5, 'class': 'soft', 'text-anchor': 'end' }, '← faster'),
  );
  results.forEach(({ workload, rows }, i) => {
    const y = top + line * i + (narrow ? 34 : line / 2);
    picture.append(
      narrow
        ? svg('text', { x: left, y: y - 14 }, workload.title)
        : svg('text', { 'x': left - 16, 'y': y + 4.5, 'text-anchor': 'end' }, workload.title),
    );
    const timed = rows.filter((r) => r.ms > 0);
    const places = timed.map((r) => x(r.ms));
    picture.append(
      svg('line', { x1: Math.min(...places), x2: Math.max(...places), y1: y, y2: y, class: 'span' }),
    );
    for (const { runner, ms } of timed)
      picture.append(svg('circle', { cx: x(ms), cy: y, r: 7, class: runner }));
  });
  box.replaceChildren(picture);
}
