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

import { HologramError, invalid } from './error.js';
import { bytesAt, importsFor, textAt } from './imports.js';
import { LanguageModel } from './llm.js';
import { moduleFrom } from './module.js';
import { ARRAYS, DTYPES, Program, Tensor, literal, shapeOf } from './tensor.js';
import { Threads, choose } from './threads.js';
import { Adam, Training } from './training.js';
import { Absence, Gpu, lookForGpu } from './webgpu.js';

export { Adam, HologramError, LanguageModel, Tensor };

const BATCH = 16;  // cases of the self-test that are on their way at a time
const NOT_YET = -1;  // what web.cpp returns for what needs values of the device
const unavailable = (absence) =>
  new HologramError('BackendUnavailable', `WebGPU backend not available: ${absence.message}.`, absence.remedy);

let faster = null;  // what "auto" found out

// Not where a runtime is made: the method would keep that one alive.
function addMethod(name) {
  const value = function (...args) { return this.runtime.call(name, [this, ...args]); };
  Object.defineProperty(Tensor.prototype, name, { value, configurable: true, writable: true });
}

export class Hologram {
  #exports;
  #open = new Set();  // handles
  #registry = new FinalizationRegistry((handle) => this.#release(handle));
  #encoder = new TextEncoder();
  #memory;
  #threads;

  #gpu;
  #turn = Promise.resolve();  // of what is tried again and again: one after the other
  #lost;
  #tellLost;

  // backend: "cpu", "webgpu", or "auto": of both the one that was faster when it was tried, once for
  // a page. wasm: where the module is, if not beside this file: its URL, bytes or a
  // WebAssembly.Module. threads: how many compute on the CPU, or "auto" for as many as the machine has
  // processors, where pages may have threads at all, and else one. Of WebGPU: powerPreference ("low-power", "high-performance"), features that
  // the device must have, whether "auto" may choose an adapter that is software, and what to call
  // with a HologramError when the device is lost.
  static async create({ backend = 'auto', threads = 'auto', wasm, powerPreference, features, software = false, onLost } = {}) {
    if (!['auto', 'cpu', 'webgpu'].includes(backend))
      throw new HologramError('BackendUnavailable', `There is no backend ${backend} in a web page.`,
        'Use "cpu", "webgpu", or "auto" for the best there is.');
    const gpu = new Gpu();
    let instance, runtime, absence = null;
    if (backend !== 'cpu') {
      await gpu.open({ powerPreference, features, software: software || backend === 'webgpu',
        onLost: (why) => runtime?.#loses(why) }).catch((error) => {
        if (!(error instanceof Absence)) throw error;
        absence = unavailable(error);
        if (backend === 'webgpu') throw absence;
      });
    }
    const chosen = await choose({ threads, wasm, backend });
    const memory = () => chosen.memory ?? instance.exports.memory;
    const imports = importsFor(chosen.module, memory, gpu.imports(memory, () => instance.exports), undefined,
      { apply: () => runtime._training.apply() });
    instance = await WebAssembly.instantiate(chosen.module, imports);
    instance.exports._initialize();
    const crew = new Threads(instance.exports);
    try {
      await crew.begin(chosen);
      runtime = new Hologram(instance.exports, memory(), gpu, crew);
    } catch (error) {
      crew.end();
      gpu.close();
      throw error;
    }
    runtime.onLost = onLost ?? null;
    try {
      await runtime.#choose(backend, absence);
    } catch (error) {
      runtime.dispose();
      throw error;
    }
    return runtime;
  }

  // What create could open: [{ backend, name, software, reason }], with a reason where it could not.
  static async devices(options = {}) {
    const all = [{ backend: 'cpu', name: 'WebAssembly', software: false, reason: '' }];
    try {
      all.unshift({ backend: 'webgpu', ...await lookForGpu(options), reason: '' });
    } catch (error) {
      all.unshift({ backend: 'webgpu', name: '', software: false, reason: error.message });
    }
    return all;
  }

  constructor(exports, memory, gpu, threads) {
    this.#exports = exports;
    this.#memory = memory;
    this.#gpu = gpu;
    this.#threads = threads;
    this._training = new Training(this);
    this.#lost = new Promise((tell) => { this.#tellLost = tell; });
    this.functions = Object.freeze(this._ask('hg_functions', undefined));
    for (const { name } of this.functions) {
      if (!(name in this)) this[name] = (...args) => this.call(name, args);
      if (!(name in Tensor.prototype)) addMethod(name);
    }
  }

  // Opens what was asked for, or the faster of what there is.
  async #choose(backend, absence) {
    const open = (name) => this.#again(() => this.#with(name, this.#exports.hg_open));
    if (backend !== 'auto') {
      await open(backend);
      this.why = `${backend} was asked for by name`;
      return;
    }
    await open('cpu');
    if (absence !== null) this.why = `cpu, as ${absence.message}`;
    else {
      try {
        await open('webgpu');
        faster ??= await this.#compare(open);
        await open(faster.backend);
        this.why = faster.why;
      } catch (error) {
        await open('cpu');
        this.why = `cpu, as WebGPU does not work: ${error.message}`;
      }
    }
    if (this.backend === 'cpu') this.#gpu.close();
    else this.#threads.end();
  }

  // The same work on both, once to get ready and then the best of a few times.
  async #compare(open) {
    const took = {};
    for (const backend of ['webgpu', 'cpu']) {
      await open(backend);
      took[backend] = Infinity;
      const x = this.tensor(Float32Array.from({ length: 192 * 192 }, (_, i) => (i % 97) / 97), { shape: [192, 192] });
      for (let i = 0; i < 4; i++) {
        const start = performance.now();
        const y = this.eval('sum(sigmoid(x @ x) * x)', { x });
        await y.data();
        if (i > 0) took[backend] = Math.min(took[backend], performance.now() - start);
        y.dispose();
      }
      x.dispose();
    }
    const backend = took.webgpu < took.cpu ? 'webgpu' : 'cpu';
    return { backend, why: `${backend}, as webgpu took ${took.webgpu.toFixed(1)} ms ` +
      `where cpu took ${took.cpu.toFixed(1)} ms` };
  }

  get device() { return this._ask('hg_device', undefined); }
  get backend() { return this.device.backend; }
  get limits() { return this.device.limits; }
  // How many compute on the CPU, the one that asks among them.
  get threads() { return this.#threads.count; }
  // Bytes that tensors have on the device, and that are kept for others.
  get memory() { return this._ask('hg_memory', undefined); }
  // Gives what is kept back to the device.
  trim() { this.#text(this.#exports.hg_trim()); }
  // The GPUDevice, or null: for what a page does with WebGPU itself.
  get gpuDevice() { return this.#gpu.device; }
  // Resolves with a HologramError if the device is lost.
  get lost() { return this.#lost; }
  // What the runtime has of WebGPU's objects.
  get gpuCounts() { return this.#gpu.counts; }

  #loses(why) {
    const error = new HologramError('DeviceLost', `${this.#gpu.name} is lost: ${why}`,
      'Make another runtime by Hologram.create(); tensors of this one are gone.');
    this.#tellLost(error);
    this.onLost?.(error);
  }

  // A tensor of numbers, nested arrays or a typed array (whose shape may be given).
  tensor(values, { shape, dtype } = {}) {
    const typed = ArrayBuffer.isView(values);
    const flat = typed ? values : Array.isArray(values) ? values.flat(Infinity) : [values];
    const wanted = dtype ?? (typed ? DTYPES.get(values.constructor)
      : typeof flat[0] === 'boolean' ? 'bool' : typeof flat[0] === 'bigint' ? (flat.some((v) => v >= 2n ** 63n) ? 'u64' : 'i64') : 'f32');
    const Type = ARRAYS[wanted];
    if (Type === undefined) throw invalid(`There is no dtype ${wanted}.`);
    if (wanted === 'f16' || wanted === 'bf16') {
      if (!(values instanceof Uint16Array)) return this.tensor(values, { shape }).cast(wanted);
    }
    const wide = Type === BigInt64Array || Type === BigUint64Array;
    const bits = values instanceof Type ? values : Type.from(flat, (v) => wide ? BigInt(v) : v);
    if (wide && bits.some((v, i) => v !== BigInt(flat[i]))) throw invalid(`${wanted} does not hold all of the integers.`);
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

  // The same, for what has to look at values while it is put together: the shape of nonzero's result
  // is not known before, on a GPU.
  async evaluate(text, inputs = {}) {
    // Until it is done nobody else may hold them, and the request has but their handles.
    const tensors = Object.entries(inputs).map(([name, value]) =>
      [name, typeof value === 'object' && !(value instanceof Tensor) ? this.tensor(value) : value]);
    const request = JSON.stringify({ text, inputs: this._inputs(Object.fromEntries(tensors)) });
    try {
      const done = await this.#again(() => this.#with(request, this.#exports.hg_evaluate));
      const all = this.#outputs(JSON.parse(done));
      const names = Object.keys(all);
      return names.length === 1 ? all[names[0]] : all;
    } finally {
      for (const [name, value] of tensors) if (value !== inputs[name]) value.dispose();
    }
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

  // The names that an expression needs values for, and those that it gives: { inputs, outputs }.
  describe(expression) { return this._ask('hg_describe', { expression }); }

  // The fused kernels that reading these tensors would launch, [{ name, text }]: as Atlas, or in a
  // language of GPUs. Products and sorts have none.
  kernels(tensors, dialect) {
    const handles = [tensors].flat().map((t) => t.handle);
    return this._ask('hg_kernels', { handles, ...(dialect && { dialect }) });
  }

  // A language model of the bytes of a GGUF file, which are an ArrayBuffer, a typed array or a Blob such
  // as a File. context: the most tokens of a sequence; cache: "f16" or "f32", of keys and values;
  // activations: "exact" or "bytes", what quantised weights are multiplied with; name: what errors call it; onProgress is called with { loaded, total } bytes.
  loadModel(source, options) { return LanguageModel.load(this.#calls(), source, options); }

  // Layers and losses: linear(x, weight, bias), crossEntropy(logits, labels), mse(x, target).
  get nn() { return this._training.functions; }
  // The value of a function of tensors, one number, and its gradient by each: { value, gradients }. The
  // function runs once, at once, on stand-ins for these tensors; others are constants.
  valueAndGradient(function_, tensors) { return this._training.valueAndGradient(function_, tensors); }
  // Adam for these tensors, which step(gradients) takes a step on: a new list of them, in `parameters`.
  adam(parameters, options) { return new Adam(this, parameters, options); }

  // Launches a program, or the text of one, and waits until it is done:
  // { outputs, seconds, grid }. Seconds are those from the call to the end of the work.
  async run(program, args = {}, options = {}) {
    const source = program instanceof Program ? program.source : program;
    await this.finished();
    const start = performance.now();
    const { outputs, grid } = this._launch(source, args, options);
    await this.finished();
    return { outputs, grid, seconds: (performance.now() - start) / 1000 };
  }

  // Resolves when the device has done all that was asked of it so far; rejects with what went wrong.
  async finished() {
    this.#text(this.#exports.hg_check());
    await this.#gpu.finished();
    this.#text(this.#exports.hg_check());
  }

  // Whether this browser computes what it should: some cases of the conformance suite, or all whose
  // names match the regular expression. { passed, failed, unsupported, skipped, failures }.
  // onCase is called with { name, verdict, reason } of each; where `every` is n, each nth is tried.
  // An AbortSignal as `signal` ends it early.
  async selfTest(filter = '^(add|mul|exp|sin|sum|softmax|matmul|sort)/(f32|i32)/', { onCase, every = 1, signal } = {}) {
    const cases = await this.#again(() => this.#with(filter, this.#exports.hg_cases));
    const names = JSON.parse(cases).filter((_, i) => i % every === 0);
    const report = { passed: 0, failed: 0, unsupported: 0, skipped: 0, failures: [] };
    for (let at = 0; at < names.length && !signal?.aborted; at += BATCH) {
      const batch = JSON.stringify(names.slice(at, at + BATCH));
      const results = await this.#again(() => this.#with(batch, this.#exports.hg_batch));
      for (const one of JSON.parse(results)) {
        report[one.verdict]++;
        if (one.verdict === 'failed') report.failures.push({ name: one.name, reason: one.reason });
        onCase?.(one);
      }
      await new Promise((done) => setTimeout(done));  // the page has work of its own
    }
    return report;
  }

  // Frees every tensor and the device. The runtime is no longer of use.
  dispose() {
    this.#open.clear();
    this.#threads.end();
    this.#exports.hg_close();
    this.#gpu.close();
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
      } else if (typeof value === 'bigint') all[name] = { integer: String(value) };
      else if (typeof value === 'number' || typeof value === 'boolean') all[name] = value;
      else all[name] = { handle: this.tensor(value).handle };
    }
    return all;
  }
  #outputs(list) {
    const all = {};
    for (const output of list) all[output.name || 'result'] = new Tensor(this, output);
    return all;
  }
  _results(function_, request) { return this.#outputs(this._ask(function_, request)); }
  _launch(source, args, { shapes, grid, rounds } = {}) {
    const request = { text: source, arguments: this._inputs(args) };
    if (shapes) request.shapes = shapes;
    if (grid) request.grid = grid;
    if (rounds) request.rounds = rounds;
    const done = this._ask('hg_run', request);
    return { outputs: this.#outputs(done.outputs), grid: done.grid };
  }
  // What the module has told last, in the midst of a call.
  _told() { return JSON.parse(this.#text(1)); }
  _ask(function_, request) {
    const call = this.#exports[function_];
    const done = request === undefined ? call() : this.#with(JSON.stringify(request), call);
    const text = this.#text(done);
    return function_ === 'hg_show' ? text : JSON.parse(text);
  }
  async _read(tensor) {
    const Type = ARRAYS[tensor.dtype];
    const bytes = tensor.size * Type.BYTES_PER_ELEMENT;
    const { number } = this.#parse(this.#exports.hg_fetch(tensor.handle));
    if (number !== 0) {
      const there = await this.#gpu.fetch(number);
      await this.#gpu.quiet();
      this.#text(this.#exports.hg_check());
      if (there === null)
        throw new HologramError('DeviceLost', `${this.#gpu.name} did not bring a tensor of ${bytes} bytes.`,
          'Make another runtime by Hologram.create().');
      return new Type(there, 0, tensor.size);
    }
    const at = this.#allocate(bytes);
    try {
      this.#text(this.#exports.hg_read(tensor.handle, at, bytes));
      return new Type(bytesAt(this.#memory, at, bytes).slice().buffer);
    } finally {
      this.#exports.free(at);
    }
  }

  // Calls until all values of the device that the call needs are there, one such work at a time;
  // its text.
  #again(call) {
    const turn = this.#turn.then(async () => {
      for (let again = 0; ; again = 1) {
        let done, text;
        this.#exports.hg_attempt(again);
        try {
          done = call();
          if (done !== NOT_YET) text = this.#text(done);
        } finally {
          this.#exports.hg_attempted(done === NOT_YET ? 1 : 0);
        }
        if (done !== NOT_YET) return text;
        await this.#gpu.quiet();
      }
    });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  // What models call.
  #calls() {
    const exports = this.#exports;
    return {
      memory: this.#memory,
      allocate: (bytes) => this.#allocate(bytes),
      free: (at) => exports.free(at),
      ask: (function_, request) => this._ask(function_, request),
      attempt: async (function_, request, ...more) => {
        let handle;
        const text = await this.#again(() => handle = typeof request === 'number' ? exports[function_](request)
          : this.#with(request, (at) => exports[function_](at, ...more)));
        return { handle, text };
      },
      answer: (request) => this.#with(JSON.stringify(request), exports.hg_answer),
      cancel: (answer) => this.#text(exports.hg_answer_cancel(answer)),
      end: (answer) => exports.hg_answer_dispose(answer),
      dispose: (model) => exports.hg_model_dispose(model),
    };
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
      bytesAt(this.#memory, at, bytes.length).set(bytes);
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
    const text = textAt(this.#memory, at, length);
    if (done === NOT_YET)
      throw new HologramError('UnsupportedOperation', 'This needs values of the device while it is put together.',
        'Use `await hg.evaluate(…)`, which waits for them, or the backend "cpu".');
    if (done !== 0) return text;
    const { kind, message, remedy } = JSON.parse(text);
    throw new HologramError(kind, message, remedy);
  }
  #parse(done) { return JSON.parse(this.#text(done)); }
}
