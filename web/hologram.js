// hologram in JavaScript: tensors, expressions and Atlas programs, in WebAssembly.
//
//   import { Hologram } from 'hologram';
//   const hg = await Hologram.create();
//   const a = hg.tensor([[1, 2], [3, 4]]);
//   const b = a.matmul(a).sigmoid();              // every function of expressions is a method
//   const m = hg.eval('mean(a * b, axis=0)', { a, b });
//   console.log(m.shape, await m.data());         // [2] Float32Array
//
// Nothing is computed before it is read. Errors are HologramError, with the kind of error and a
// message that says what to do.

const ARRAYS = {
  bool: Uint8Array, i8: Int8Array, u8: Uint8Array, i16: Int16Array, u16: Uint16Array,
  i32: Int32Array, u32: Uint32Array, i64: BigInt64Array, u64: BigUint64Array,
  f16: Uint16Array, bf16: Uint16Array, f32: Float32Array, f64: Float64Array,
};
// What the elements of a typed array become without a dtype.
const DTYPES = new Map([
  [Int8Array, 'i8'], [Uint8Array, 'u8'], [Uint8ClampedArray, 'u8'], [Int16Array, 'i16'],
  [Uint16Array, 'u16'], [Int32Array, 'i32'], [Uint32Array, 'u32'], [BigInt64Array, 'i64'],
  [BigUint64Array, 'u64'], [Float32Array, 'f32'], [Float64Array, 'f64'],
]);

export class HologramError extends Error {
  // kind: "InvalidArgument", "ShapeMismatch", "InvalidProgram", … as in C++.
  constructor(kind, message) {
    super(message);
    this.name = 'HologramError';
    this.kind = kind;
  }
}

const invalid = (message) => new HologramError('InvalidArgument', message);

// The shape of nested arrays; all rows must be of one length.
function shapeOf(values) {
  if (!Array.isArray(values)) return [];
  if (values.length === 0) return [0];
  const inner = shapeOf(values[0]);
  for (const row of values) {
    if (shapeOf(row).join() !== inner.join()) throw invalid('The rows of an array differ in shape.');
  }
  return [values.length, ...inner];
}

// The module's imports: a page has no files, so that all but time, memory and messages is refused.
function importsFor(module, memory) {
  const kNotThere = 52; // ENOSYS of WASI
  const wasi = {
    clock_time_get: (clock, precision, out) => {
      const now = clock === 0 ? Date.now() : performance.now();
      new DataView(memory().buffer).setBigUint64(out, BigInt(Math.round(now * 1e6)), true);
      return 0;
    },
    environ_sizes_get: (count, bytes) => {
      const view = new DataView(memory().buffer);
      view.setUint32(count, 0, true);
      view.setUint32(bytes, 0, true);
      return 0;
    },
    environ_get: () => 0,
    // The C library's messages; hologram itself has none.
    fd_write: (file, parts, count, written) => {
      const view = new DataView(memory().buffer);
      let text = '', total = 0;
      for (let i = 0; i < count; i++) {
        const at = view.getUint32(parts + 8 * i, true), length = view.getUint32(parts + 8 * i + 4, true);
        text += new TextDecoder().decode(new Uint8Array(memory().buffer, at, length).slice());
        total += length;
      }
      view.setUint32(written, total, true);
      if (text.trim() !== '') console.warn(text);
      return 0;
    },
    proc_exit: (code) => { throw new HologramError('Internal', `The runtime ended with ${code}.`); },
  };
  const imports = {};
  for (const { module: room, name, kind } of WebAssembly.Module.imports(module)) {
    if (kind !== 'function') continue;
    imports[room] ??= {};
    imports[room][name] = wasi[name] ?? (name.startsWith('emscripten_notify') ? () => {}
      : room === 'env' ? () => -kNotThere : () => kNotThere);
  }
  return imports;
}

// The bytes of the module: given, or beside this file.
async function moduleFrom(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  const url = new URL(source ?? 'hologram.wasm', import.meta.url);
  if (url.protocol === 'file:') {
    const { readFile } = await import('node:fs/promises');
    return WebAssembly.compile(await readFile(url));
  }
  const answer = await fetch(url);
  if (!answer.ok) throw new HologramError('BackendUnavailable', `${url} cannot be loaded: ${answer.status}`);
  if ((answer.headers.get('content-type') ?? '').startsWith('application/wasm'))
    return WebAssembly.compileStreaming(answer);
  return WebAssembly.compile(await answer.arrayBuffer());
}

// A value as expressions are written: numbers, lists, words.
function literal(value, inputs) {
  if (value instanceof Tensor) {
    const name = `t${Object.keys(inputs).length}`;
    inputs[name] = value;
    return name;
  }
  if (value === null || value === undefined) return 'none';
  if (Array.isArray(value)) return `[${value.map((v) => literal(v, inputs)).join(', ')}]`;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') {
    const text = String(value);
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
  async data() { return this.#runtime._read(this); }
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
    const image = new ImageData(width, height);
    for (let p = 0; p < width * height; p++) {
      for (let c = 0; c < 3; c++)
        image.data[4 * p + c] = 255 * values[p * channels + (channels === 1 ? 0 : c)] + 0.5;
      image.data[4 * p + 3] = channels === 4 ? 255 * values[p * channels + 3] + 0.5 : 255;
    }
    canvas.width = width;
    canvas.height = height;
    canvas.getContext('2d').putImageData(image, 0, 0);
    return canvas;
  }
}

// A program of the kernel language Atlas.
class Program {
  #runtime;
  constructor(runtime, text) {
    this.#runtime = runtime;
    this.text = runtime._ask('hg_show', { text });  // verified and optimised
    this.source = text;
  }
  // Tensors and numbers by the names of the parameters; the tensors that it writes come back by
  // name. Shapes of outputs that do not follow from the inputs': { shapes: { y: [2, 3] } }.
  run(args = {}, { shapes, grid } = {}) {
    const request = { text: this.source, arguments: this.#runtime._inputs(args) };
    if (shapes) request.shapes = shapes;
    if (grid) request.grid = grid;
    return this.#runtime._results('hg_run', request);
  }
  // Its text in a language of GPUs: "cuda", "opencl", "hip", "metal".
  show(dialect) { return this.#runtime._ask('hg_show', { text: this.source, dialect }); }
}

export class Hologram {
  #exports;
  #open = new Set();  // handles
  #registry = new FinalizationRegistry((handle) => this.#release(handle));
  #encoder = new TextEncoder();
  #decoder = new TextDecoder();

  // backend: "auto" or "cpu". wasm: where the module is, if not beside this file: its URL, bytes or a
  // WebAssembly.Module.
  static async create({ backend = 'auto', wasm } = {}) {
    if (!['auto', 'cpu'].includes(backend))
      throw new HologramError('BackendUnavailable',
        `There is no backend ${backend} here; the web build has "cpu", or "auto" for the best there is.`);
    const module = await moduleFrom(wasm);
    let instance;
    instance = await WebAssembly.instantiate(module, importsFor(module, () => instance.exports.memory));
    instance.exports._initialize?.();
    return new Hologram(instance.exports);
  }

  constructor(exports) {
    this.#exports = exports;
    this.functions = Object.freeze(this._ask('hg_functions', undefined));
    for (const { name } of this.functions) {
      if (!(name in this)) this[name] = (...args) => this.call(name, args);
      if (!(name in Tensor.prototype))
        Object.defineProperty(Tensor.prototype, name, {
          value(...args) { return this.runtime.call(name, [this, ...args]); },
          configurable: true, writable: true,
        });
    }
  }

  get device() { return this._ask('hg_device', undefined); }

  // A tensor of numbers, nested arrays or a typed array (whose shape may be given).
  tensor(values, { shape, dtype } = {}) {
    const typed = ArrayBuffer.isView(values);
    const flat = typed ? values : Array.isArray(values) ? values.flat(Infinity) : [values];
    const wanted = dtype ?? (typed ? DTYPES.get(values.constructor)
      : typeof flat[0] === 'boolean' ? 'bool' : typeof flat[0] === 'bigint' ? 'i64' : 'f32');
    const Type = ARRAYS[wanted];
    if (Type === undefined) throw invalid(`There is no dtype ${wanted}.`);
    if (wanted === 'f16' || wanted === 'bf16') {
      if (!(values instanceof Uint16Array)) return this.tensor(values, { shape }).cast(wanted);
    }
    const bits = values instanceof Type ? values : Type.from(flat, (v) => Type === BigInt64Array || Type === BigUint64Array ? BigInt(v) : v);
    const lengths = shape ?? (typed ? [values.length] : shapeOf(values));
    const bytes = new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength);
    const handle = this.#with(JSON.stringify({ dtype: wanted, shape: lengths }), (text) =>
      this.#withBytes(bytes, (at) => this.#exports.hg_tensor(text, at, bytes.length)));
    return new Tensor(this, { handle, dtype: wanted, shape: [...lengths] });
  }

  // The picture of an image, a canvas or an ImageBitmap: f32 [height, width, 4] of 0 to 1.
  image(source) {
    const width = source.naturalWidth ?? source.width, height = source.naturalHeight ?? source.height;
    const context = new OffscreenCanvas(width, height).getContext('2d');
    context.drawImage(source, 0, 0);
    const pixels = context.getImageData(0, 0, width, height).data;
    return this.tensor(Float32Array.from(pixels, (v) => v / 255), { shape: [height, width, 4] });
  }

  // The value of an expression: a tensor, or, of one that assigns several names, all by name.
  eval(text, inputs = {}) {
    const all = this._results('hg_evaluate', { text, inputs: this._inputs(inputs) });
    const names = Object.keys(all);
    return names.length === 1 ? all[names[0]] : all;
  }

  // A function of expressions by its name; the last argument may be an object of named arguments.
  call(name, args) {
    const inputs = {};
    const last = args[args.length - 1];
    const named = last !== null && typeof last === 'object' && !(last instanceof Tensor) &&
      !Array.isArray(last) ? last : undefined;
    const parts = args.slice(0, named ? -1 : undefined).map((a) => literal(a, inputs));
    for (const [key, value] of Object.entries(named ?? {})) parts.push(`${key}=${literal(value, inputs)}`);
    return this.eval(`${name}(${parts.join(', ')})`, inputs);
  }

  program(text) { return new Program(this, text); }

  // Whether this browser computes what it should: some cases of the conformance suite, or all whose
  // names match the regular expression. { passed, failed, unsupported, skipped, failures }
  async selfTest(filter = '^(add|mul|exp|sin|sum|softmax|matmul|sort)/(f32|i32)/') {
    return this.#parse(this.#with(filter, (text) => this.#exports.hg_conformance(text)));
  }

  // Frees every tensor. The runtime is no longer of use.
  dispose() {
    for (const handle of this.#open) this.#exports.hg_dispose(handle);
    this.#open.clear();
  }

  // --- what Tensor and Program need

  _watch(tensor, handle) {
    this.#open.add(handle);
    this.#registry.register(tensor, handle, tensor);
  }
  _dispose(tensor, handle) {
    this.#registry.unregister(tensor);
    this.#release(handle);
  }
  _inputs(inputs) {
    const all = {};
    for (const [name, value] of Object.entries(inputs)) {
      if (value instanceof Tensor) {
        if (value.runtime !== this) throw invalid(`${name} is a tensor of another runtime.`);
        all[name] = { handle: value.handle };
      } else if (typeof value === 'bigint') all[name] = Number(value);
      else if (typeof value === 'number' || typeof value === 'boolean') all[name] = value;
      else all[name] = { handle: this.tensor(value).handle };
    }
    return all;
  }
  _results(function_, request) {
    const all = {};
    for (const output of this._ask(function_, request)) all[output.name || 'result'] = new Tensor(this, output);
    return all;
  }
  _ask(function_, request) {
    const call = this.#exports[function_];
    const done = request === undefined ? call() : this.#with(JSON.stringify(request), call);
    const text = this.#text(done);
    return function_ === 'hg_show' ? text : JSON.parse(text);
  }
  _read(tensor) {
    const Type = ARRAYS[tensor.dtype];
    const bytes = tensor.size * Type.BYTES_PER_ELEMENT;
    const at = this.#allocate(bytes);
    try {
      this.#text(this.#exports.hg_read(tensor.handle, at, bytes));
      return new Type(this.#exports.memory.buffer.slice(at, at + bytes));
    } finally {
      this.#exports.free(at);
    }
  }

  #release(handle) {
    if (this.#open.delete(handle)) this.#exports.hg_dispose(handle);
  }
  #allocate(bytes) {
    const at = this.#exports.malloc(Math.max(bytes, 1)) >>> 0;
    if (at === 0) throw new HologramError('OutOfMemory', `The page has no ${bytes} bytes more for tensors.`);
    return at;
  }
  #withBytes(bytes, body) {
    const at = this.#allocate(bytes.length);
    try {
      new Uint8Array(this.#exports.memory.buffer).set(bytes, at);
      const handle = body(at);
      if (handle === 0) this.#text(0);
      return handle;
    } finally {
      this.#exports.free(at);
    }
  }
  #with(text, body) { return this.#withBytes(this.#encoder.encode(`${text}\0`), body); }
  // What the last call left; of a failed one the error.
  #text(done) {
    const at = this.#exports.hg_text() >>> 0, length = this.#exports.hg_text_length();
    const text = this.#decoder.decode(new Uint8Array(this.#exports.memory.buffer).slice(at, at + length));
    if (done !== 0) return text;
    const { kind, message } = JSON.parse(text);
    throw new HologramError(kind, message);
  }
  #parse(done) { return JSON.parse(this.#text(done)); }
}
