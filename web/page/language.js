// The little that the page itself knows of Atlas, expressions and the languages of GPUs: what is a
// program, and which words to colour.

const WORDS = new Set(
  (
    'program fn const in out inout atomic workgroup lanes require var if else for while loop ' +
    'break continue return unroll barrier shared let struct storage uniform read read_write compute ' +
    'workgroup_size group binding override switch case default static inline extern void kernel __kernel __global__ ' +
    'constant device threadgroup and or not none true false typedef'
  ).split(' '),
);
const TYPES =
  /^(bool|[iuf](8|16|32|64)|bf16|vec[234]|array|atomic|ptr|int|uint|float|double|half|char|uchar|short|ushort|long|ulong|size_t|u?int\d+_t|vec\d[fiuh])$/;
const TOKEN =
  /(\/\/[^\n]*|\/\*[^]*?\*\/|(?:^|(?<=\s))#[^\n]*)|(@\w+|[A-Za-z_]\w*)|(\d[\w.]*(?:e[-+]?\d+\w?)?)/gi;

export const looksLikeProgram = (text) => /(^|\s)program\s+\w+\s*\(/.test(text.replace(/\/\/[^\n]*/g, ''));

// Puts the text into an element, with spans of class "word", "type", "number" and "remark".
export function paint(element, text) {
  const parts = document.createDocumentFragment();
  let at = 0;
  for (const { index, 0: token, 1: remark, 2: name, 3: number } of text.matchAll(TOKEN)) {
    const kind = remark
      ? 'remark'
      : number
        ? 'number'
        : name.startsWith('@') || WORDS.has(name)
          ? 'word'
          : TYPES.test(name)
            ? 'type'
            : '';
    if (kind === '') continue;
    parts.append(text.slice(at, index));
    const span = document.createElement('span');
    span.className = kind;
    span.textContent = token;
    parts.append(span);
    at = index + token.length;
  }
  parts.append(text.slice(at));
  element.replaceChildren(parts);
}

// Where a message of hologram points to: { line, column }, from 1, or undefined.
export function placeIn(message) {
  const found = /:(\d+):(\d+): /.exec(message);
  return found ? { line: Number(found[1]), column: Number(found[2]) } : undefined;
}
