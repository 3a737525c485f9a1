// Tensors and programs of a runtime, and values as JavaScript gives them.

import { invalid } from './error.js';

export const ARRAYS = {
  bool: Uint8Array, i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array,
  i32: Int32Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array,
  f16: Uint16Array, bf16: Uint16Array, f32: Float32Array, f64: Float64Array,
};
// What the elements of a typed array become without a dtype.
export const DTYPES = new Map([
  [Int8Array, 'i8'], [Uint8Array, 'u8'], [Uint8ClampedArray, 'u8'], [Int16Array, 'i16'],
  [Uint16Array, 'u16'], [Int32Array, 'i32'], [Uint32Array, 'u32'], [BigInt64Array, 'i64'],
  [BigUint64Array, 'u64'], [Float32Array, 'f32'], [Float64Array, 'f64'],
]);

// The shape of nested arrays; all rows must be of one length.
export function shapeOf(values) {
  if (!Array.isArray(values)) return [];
  if (values.length === 0) return [0];
  const inner = shapeOf(values[0]);
  for (const row of values) {
    if (shapeOf(row).join() !== inner.join()) throw invalid('The rows of an array differ in shape.');
  }
  return [values.length, ...inner];
}

// A value as expressions are written: numbers, lists, words.
export function literal(value, inputs) {
  if (value instanceof Tensor) {
    const name = `t${Object.keys(inputs).length}`;
    inputs[name] = value;
    return name;
  }
  if (value === null || value === undefined) return 'none';
  if (Array.isArray(value)) return `[${value.map((v) => literal(v, inputs)).join(', ')}]`;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') {
    // Digits alone are an integer, for which 1e20 is too large.
    const text = typeof value === 'number' && Math.abs(value) >= 2 ** 64 ? value.toExponential() : String(value);
    return text === 'Infinity' ? 'inf' : text === '-Infinity' ? '-inf' : text === 'NaN' ? 'nan' : text;
  }
  if (typeof value === 'string' && /^[a-z_0-9]+$/i.test(value)) return value;
  throw invalid(`An argument is neither a tensor nor a number, list or word: ${value}`);
}

// A tensor of a runtime. `shape` is an array of lengths, `dtype` a name ("f32", "i64", …).
export class Tensor {
  #runtime;
  #handle;
  constructor(runtime, { handle, dtype, shape }) {
    this.#runtime = runtime;
    this.#handle = handle;
    this.dtype = dtype;
    this.shape = Object.freeze(shape);
    runtime._watch(this, handle);
  }
  get size() { return this.shape.reduce((a, b) => a * b, 1); }
  get rank() { return this.shape.length; }
  get runtime() { return this.#runtime; }
  get handle() {
    if (this.#handle === 0) throw invalid('The tensor was disposed of.');
    return this.#handle;
  }

  // All elements, row by row, as a typed array; f16 and bf16 as their bits.
  data() { return this.#runtime._read(this); }
  // The one element of a tensor that has one.
  async item() {
    if (this.size !== 1) throw invalid(`item() is for tensors of one element, not of ${this.size}.`);
    return (await this.data())[0];
  }
  // Nested arrays.
  async array() {
    const data = await this.data();
    let at = 0;
    const rows = (axis) => axis === this.rank ? data[at++]
      : Array.from({ length: this.shape[axis] }, () => rows(axis + 1));
    return rows(0);
  }
  // Frees the memory now rather than when the tensor is collected.
  dispose() {
    if (this.#handle !== 0) this.#runtime._dispose(this, this.#handle);
    this.#handle = 0;
  }
  // Draws a tensor [height, width] or [height, width, 1, 3 or 4] of values from 0 to 1.
  async toCanvas(canvas) {
    const [height, width, channels = 1] = this.shape;
    if (this.rank < 2 || this.rank > 3 || ![1, 3, 4].includes(channels) || this.dtype !== 'f32')
      throw invalid('A picture is an f32 tensor [height, width] or [height, width, 1, 3 or 4].');
    const values = await this.data();
    const image = new ImageData(width, height);  // its bytes round by themselves
    for (let p = 0; p < width * height; p++) {
      for (let c = 0; c < 3; c++)
        image.data[4 * p + c] = 255 * values[p * channels + (channels === 1 ? 0 : c)];
      image.data[4 * p + 3] = channels === 4 ? 255 * values[p * channels + 3] : 255;
    }
    canvas.width = width;
    canvas.height = height;
    canvas.getContext('2d').putImageData(image, 0, 0);
    return canvas;
  }
}

// A program of the kernel language Atlas.
export class Program {
  #runtime;
  constructor(runtime, text) {
    this.#runtime = runtime;
    this.text = runtime._ask('hg_show', { text });  // verified and optimised
    this.source = text;
  }
  // Tensors and numbers by the names of the parameters; the tensors that it writes come back by
  // name. Shapes of outputs that do not follow from the inputs': { shapes: { y: [2, 3] } }. grid: workgroups along x, y and z. rounds: how
  // often a lane may go around loops that are not known to end.
  run(args = {}, options = {}) { return this.#runtime._launch(this.source, args, options).outputs; }
  // What it takes and gives: { name, buffers: [{ name, access, dtype, shape }], scalars: [{ name,
  // dtype, default }] }; the shape has names and numbers, or is null if any will do.
  get parameters() { return this.#runtime._ask('hg_describe', { program: this.source }); }
  // Its text in a language of GPUs: "cuda", "opencl", "hip", "metal", "wgsl".
  show(dialect) { return this.#runtime._ask('hg_show', { text: this.source, dialect }); }
}
