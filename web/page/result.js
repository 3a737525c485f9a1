// A result as numbers, a table or a picture.
import { backendName, draw, element, milliseconds } from './dom.js';

const MOST_ROWS = 16,
  MOST_COLUMNS = 10,
  MOST_IN_LIST = 40;

const number = (value, dtype) => {
  if (dtype === 'bool') return value ? 'true' : 'false';
  if (typeof value !== 'number') return value;
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : value < 0 ? '-inf' : 'nan';
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  const rounded = Number(value.toPrecision(6));
  return Math.abs(value) < 1e-3 ? rounded.toExponential() : String(rounded);
};

const row = (cells) => element('tr', {}, ...cells.map((cell) => element('td', {}, cell)));

// The beginning of the values; those of rank above 2 as the rows of their last axis.
function tableOf({ shape, values, dtype }) {
  const columns = shape.length < 2 ? Math.min(shape[0] ?? 1, MOST_IN_LIST) : shape[shape.length - 1];
  const width = Math.min(columns, shape.length < 2 ? 8 : MOST_COLUMNS);
  const rows = [];
  if (shape.length < 2) {
    for (let i = 0; i < columns; i += width)
      rows.push(row(values.slice(i, Math.min(i + width, columns)).map((v) => number(v, dtype))));
    if (shape[0] > columns) rows.push(row(['…']));
  } else {
    const all = shape.slice(0, -1).reduce((a, b) => a * b, 1);
    for (let r = 0; r < Math.min(all, MOST_ROWS) && r * columns + width <= values.length; r++) {
      const cells = values.slice(r * columns, r * columns + width).map((v) => number(v, dtype));
      rows.push(row(columns > width ? [...cells, '…'] : cells));
    }
    if (all > MOST_ROWS) rows.push(row(['⋮']));
  }
  return element(
    'div',
    { className: 'scroll' },
    element('table', { className: 'values' }, element('tbody', {}, ...rows)),
  );
}

function article(output) {
  const { name, dtype, shape, low, high, mean, odd, bitmap, stretched, values } = output;
  const size = shape.reduce((a, b) => a * b, 1);
  const facts = [`${dtype}[${shape.join(', ')}]`];
  if (size > 1 && high >= low) facts.push(`from ${number(low)} to ${number(high)}, mean ${number(mean)}`);
  if (odd > 0) facts.push(`${odd} not finite`);
  const title = name && name !== 'result' ? [element('b', {}, name)] : [];
  const made = element(
    'article',
    {},
    element('header', {}, ...title, element('span', { className: 'hint' }, facts.join(' · '))),
  );
  if (size === 0) made.append(element('p', { className: 'empty' }, 'It has no elements.'));
  else if (bitmap) {
    const canvas = element('canvas', {
      'role': 'img',
      'aria-label': `${name || 'The result'} as a picture of ${shape[1]} by ${shape[0]} pixels`,
    });
    draw(canvas, bitmap);
    made.append(canvas);
    if (stretched)
      made.append(element('p', { className: 'hint' }, `Dark is ${number(low)}, bright ${number(high)}.`));
  } else if (shape.length === 0 || size === 1)
    made.append(element('p', { className: 'big' }, number(values[0], dtype)));
  else made.append(tableOf(output));
  return made;
}

export function showWaiting(box) {
  box.setAttribute('aria-busy', 'true');
}

// answer: { outputs, ms, device }; without one a sentence says why.
export function showResult(box, answer, sentence) {
  box.setAttribute('aria-busy', 'false');
  if (answer === undefined) return box.replaceChildren(element('p', { className: 'empty' }, sentence));
  box.replaceChildren(
    ...answer.outputs.map(article),
    element(
      'p',
      { className: 'timing' },
      element('b', {}, milliseconds(answer.ms)),
      ` on ${backendName(answer.device)}, with the reading of the result.`,
    ),
  );
}
