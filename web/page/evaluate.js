// What the editor asks of a runtime: which values a text needs, what it is in a language of GPUs, and
// what it gives.
import { looksLikeProgram } from './language.js';

const MOST_VALUES = 4096; // of a result that go back to the page

// The fields of a text: { name, kind: "tensor" | "number" | "size", dtype, shape, value }.
function fieldsOf(hg, text, program) {
  if (!program) {
    const { inputs } = hg.describe(text);
    return inputs.map((name) => ({
      name,
      kind: 'tensor',
      value: name === 'picture' ? 'picture' : '[1, 2, 3, 4]',
    }));
  }
  const { buffers, scalars } = program.parameters;
  const given = buffers.filter((b) => b.access === 'in' || b.access === 'inout');
  const known = new Set(given.flatMap((b) => b.shape ?? []));
  const fields = given.map(({ name, dtype, shape }) => ({
    name,
    kind: 'tensor',
    dtype,
    shape,
    value: valueFor(dtype, shape),
  }));
  for (const { name, dtype, ...rest } of scalars)
    fields.push({ name, kind: 'number', dtype, value: String(shortest(rest.default ?? 1, dtype)) });
  for (const buffer of buffers) {
    if (given.includes(buffer)) continue;
    for (const size of buffer.shape ?? []) {
      if (typeof size !== 'string' || known.has(size)) continue;
      known.add(size);
      fields.push({
        name: size,
        kind: 'size',
        value: { h: '240', w: '360', height: '240', width: '360' }[size] ?? '8',
      });
    }
  }
  return fields;
}

// A value to begin with for a buffer.
function valueFor(dtype, shape) {
  if (shape?.length === 3 && dtype === 'f32') return 'picture';
  if (shape === null || shape.length === 1) return '[1, 2, 3, 4]';
  return `rand([${shape.map((n) => (typeof n === 'number' ? n : 4)).join(', ')}])`;
}

// An f32 as one would write it: 0.1 rather than 0.10000000149011612.
function shortest(value, dtype) {
  if (dtype !== 'f32' || !Number.isFinite(value)) return value;
  for (let digits = 1; digits < 9; digits++)
    if (Math.fround(Number(value.toPrecision(digits))) === value) return Number(value.toPrecision(digits));
  return value;
}

const kHowToWrite = 'Write a number, a list such as [1, 2, 3], or an expression such as rand([4, 4]).';

// What stands in a field, as a tensor or number: a number, a list, or an expression, which may use
// `picture`. Errors know their field.
async function inputOf(hg, field, photo) {
  const text = (field.value ?? '').trim();
  try {
    if (text === '')
      throw { kind: 'InvalidArgument', message: `${field.name} has no value.`, remedy: kHowToWrite };
    if (/^(true|false)$/.test(text)) return text === 'true';
    if (/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) {
      const number = Number(text);
      return field.kind === 'tensor' && field.dtype ? hg.tensor([number], { dtype: field.dtype }) : number;
    }
    let list;
    try {
      list = JSON.parse(text);
    } catch {
      /* an expression */
    }
    if (Array.isArray(list)) return hg.tensor(list, { dtype: field.dtype ?? 'f32' });
    const { inputs } = hg.describe(text);
    const value = await hg.eval(text, inputs.includes('picture') ? { picture: await photo() } : {});
    return field.dtype && value.dtype !== field.dtype ? value.cast(field.dtype) : value;
  } catch (e) {
    throw { kind: e.kind ?? e.name, message: e.message, remedy: e.remedy ?? '', field: field.name };
  }
}

// All inputs of a text; `values` holds what stands in the fields, by name.
async function inputsOf(hg, fields, values, photo) {
  const inputs = {};
  for (const field of fields) {
    const value = await inputOf(hg, { ...field, value: values[field.name] ?? field.value }, photo);
    inputs[field.name] = value;
  }
  return inputs;
}

const disposeAll = (inputs) => {
  for (const value of Object.values(inputs)) value?.dispose?.();
};

// What a text is: { program: its name or null, fields, code, note, error }. The code of an expression is
// that of its kernels, which follow from the shapes and dtypes of its inputs; where those do not fit,
// the error says so, beside the fields in which they stand.
export async function look(hg, text, values, dialect, photo) {
  if (looksLikeProgram(text)) {
    const program = await hg.program(text);
    const print = () => [dialect === 'atlas' ? program.text : program.show(dialect)];
    return { program: program.parameters.name, fields: fieldsOf(hg, text, program), ...printed(print) };
  }
  const fields = fieldsOf(hg, text);
  const seen = { program: null, fields, code: '', note: '' };
  let inputs = {};
  try {
    inputs = await inputsOf(hg, fields, values, photo);
    const outputs = await resultsOf(hg, text, undefined, inputs);
    const tensors = outputs.map(([, t]) => t);
    const print = () => hg.kernels(tensors, dialect === 'atlas' ? undefined : dialect).map((k) => k.text);
    Object.assign(seen, printed(print));
    for (const t of tensors) t.dispose();
  } catch ({ kind, message, remedy, field }) {
    seen.error = { kind, message, remedy, field };
  }
  disposeAll(inputs);
  return seen;
}

// The code of kernels, [text, …], with what there is to say of it, or why there is none.
function printed(print) {
  try {
    const kernels = print().map((text) => text.trimEnd());
    const code = kernels.join('\n\n');
    const lines = code.split('\n').length;
    const count = kernels.length === 1 ? 'one kernel' : `${kernels.length} kernels`;
    if (kernels.length > 0) return { code, note: `${count}, ${lines} lines, printed on this machine.` };
    return {
      code,
      note: 'Nothing here is a fused kernel: it is copied, or done by a program of the library.',
    };
  } catch (e) {
    return { code: '', note: `${e.message} ${e.remedy ?? ''}` };
  }
}

// What a text gives, by name: of an expression whose last statement has no name only the value of that.
async function resultsOf(hg, text, program, inputs) {
  if (program) return Object.entries(await program.run(inputs));
  const value = await (hg.evaluate ?? hg.eval).call(hg, text, inputs);
  if (typeof value.dtype === 'string') return [[hg.describe(text).outputs[0], value]];
  const all = Object.entries(value);
  const last = all.filter(([name]) => name === 'result');
  if (last.length === 0) return all;
  for (const [name, tensor] of all) if (name !== 'result') tensor.dispose();
  return [['', last[0][1]]];
}

// { outputs: [{ name, dtype, shape, values, low, high, mean, odd, bitmap }], ms }
export async function evaluate(hg, text, values, photo) {
  const program = looksLikeProgram(text) ? await hg.program(text) : undefined;
  const inputs = await inputsOf(hg, fieldsOf(hg, text, program), values, photo);
  for (const value of Object.values(inputs)) await value?.data?.(); // made before the clock runs
  const began = performance.now();
  const results = await resultsOf(hg, text, program, inputs);
  const read = [];
  for (const [name, tensor] of results) {
    const narrow = tensor.dtype === 'f16' || tensor.dtype === 'bf16';
    read.push({
      name,
      dtype: tensor.dtype,
      shape: [...tensor.shape],
      data: await (narrow ? tensor.cast('f32') : tensor).data(),
    });
  }
  const ms = performance.now() - began;
  for (const [, tensor] of results) tensor.dispose();
  disposeAll(inputs);
  return { outputs: await Promise.all(read.map(summary)), ms };
}

async function summary({ name, dtype, shape, data }) {
  let low = Infinity,
    high = -Infinity,
    sum = 0,
    odd = 0;
  for (let i = 0; i < data.length; i++) {
    const v = Number(data[i]);
    if (!Number.isFinite(v)) {
      odd++;
      continue;
    }
    if (v < low) low = v;
    if (v > high) high = v;
    sum += v;
  }
  const values = Array.from(data.subarray(0, MOST_VALUES), (v) => (typeof v === 'bigint' ? String(v) : v));
  const result = { name, dtype, shape, values, low, high, mean: sum / (data.length - odd), odd };
  if (!isPicture(shape)) return result;
  // Values from 0 to 1 are brightness; others are stretched to that.
  const plain = dtype === 'f32' && low >= -0.01 && high <= 1.5;
  result.stretched = !plain && dtype !== 'bool';
  const [from, range] = result.stretched ? [low, high - low || 1] : [0, 1];
  result.bitmap = await pictureOf(data, shape, from, range);
  return result;
}

const isPicture = ([height, width, channels = 1, ...rest]) =>
  rest.length === 0 &&
  height >= 16 &&
  width >= 16 &&
  [1, 3, 4].includes(channels) &&
  height * width <= 1 << 24;

function pictureOf(data, [height, width, channels = 1], from, range) {
  const image = new ImageData(width, height);
  for (let p = 0; p < width * height; p++) {
    for (let c = 0; c < 3; c++)
      image.data[4 * p + c] =
        (255 * (Number(data[p * channels + (channels === 1 ? 0 : c)]) - from)) / range;
    image.data[4 * p + 3] = channels === 4 ? 255 * Number(data[p * channels + 3]) : 255;
  }
  return createImageBitmap(image);
}
