// What the WebGPU backend needs of the page: the imports that
// src/backends/webgpu/browser_imports.hpp declares, over navigator.gpu. WebAssembly holds numbers;
// the objects are here.

import { bytesAt, textAt, viewAt } from './imports.js';

// In the order of the C++ enum Number, behind what is not a limit.
const LIMITS = ['maxStorageBuffersPerShaderStage', 'maxStorageBufferBindingSize',
  'minUniformBufferOffsetAlignment', 'minStorageBufferOffsetAlignment', 'maxBufferSize',
  'maxComputeWorkgroupStorageSize', 'maxComputeInvocationsPerWorkgroup', 'maxComputeWorkgroupSizeX'];
const MORE_LIMITS = ['maxComputeWorkgroupSizeY', 'maxComputeWorkgroupSizeZ'];
const USED = ['shader-f16', 'subgroups'];  // features, where they are there
const BINDINGS = { 2: 'uniform', 3: 'storage', 4: 'read-only-storage' };  // enum BindingType
const NOT_YET = 0, THERE = 1, FAILED = 2;  // enum Brought
const PATIENCE = 15000;  // milliseconds for an adapter and for a device
// Copies on their way to the page go through buffers that are kept: so many of a size, up to this one.
const KEPT_OF_A_SIZE = 4, MOST_KEPT_BYTES = 1 << 25;

// Why there is no WebGPU here: a clause, and what to do about it.
export class Absence extends Error {
  constructor(reason, remedy = '') {
    super(reason);
    this.remedy = remedy;
  }
}

const OTHER = 'Use the backend "cpu", or "auto" for the best there is.';

function within(promise, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Absence(`${what} does not answer`, OTHER)), PATIENCE);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const describe = ({ vendor = '', architecture = '', device = '', description = '' }) =>
  ({ vendor, architecture, device: device || description || `${vendor} ${architecture}`.trim() || 'an adapter without a name',
    description: description || 'WebGPU of the browser' });

async function findAdapter({ powerPreference } = {}) {
  const there = globalThis.navigator?.gpu;
  if (!there)
    throw new Absence(globalThis.isSecureContext === false
      ? 'the page is no secure context, which WebGPU needs' : 'navigator.gpu is missing: this browser has no WebGPU',
      globalThis.isSecureContext === false ? 'Serve the page by https, or from localhost.'
        : `Use a browser that has WebGPU and has it switched on. ${OTHER}`);
  const adapter = await within(there.requestAdapter({ powerPreference }), 'navigator.gpu.requestAdapter');
  if (!adapter)
    throw new Absence('the browser has WebGPU, but no adapter: no GPU here that it trusts',
      `Update the GPU's driver, or allow the browser to use the GPU. ${OTHER}`);
  const about = describe(adapter.info ?? {});
  const software = adapter.info?.isFallbackAdapter === true || adapter.isFallbackAdapter === true ||
    /swiftshader|llvmpipe|lavapipe|basic render/i.test(Object.values(about).join(' '));
  return { adapter, about, software };
}

// What there is, without opening it: { name, software }; throws an Absence.
export async function lookForGpu(options) {
  const { about, software } = await findAdapter(options);
  return { name: about.device, software };
}

export class Gpu {
  #device = null;
  #about = {};
  #software = false;
  #halves = 0;
  #subgroup = 0;  // lanes that one has at least
  #absence = 'it was not asked for';
  #memory;
  #exports;
  #onLost;
  #lost = null;  // why
  #closed = false;
  #objects = [null, null];  // by handle; 0 is none, 1 what there is one of
  #unused = [];             // handles
  #bytes = new Map();       // of buffers
  #recording = false;       // commands that may hold buffers which were let go
  #doomed = [];
  #coming = new Map();      // copies on their way, by number
  #numbers = 0;
  #kept = new Map();        // buffers for them, by size
  #promises = new Set();    // what `quiet` waits for
  #text = new TextEncoder();

  // Opens the device; software: whether one in software will do. `onLost` is called with the reason, once. Throws an Absence.
  async open({ powerPreference, features = [], software: allowed = true, onLost } = {}) {
    const { adapter, about, software } = await findAdapter({ powerPreference });
    if (software && !allowed) throw new Absence(`${about.device} is a software device, which has to be named`);
    const missing = features.filter((feature) => !adapter.features.has(feature));
    if (missing.length > 0)
      throw new Absence(`${about.device} lacks what was asked for: ${missing.join(', ')}`,
        `It has: ${[...adapter.features].sort().join(', ') || 'no features'}. Ask for fewer, or for another adapter.`);
    const requiredLimits = {};
    for (const name of [...LIMITS, ...MORE_LIMITS])
      if (adapter.limits[name] !== undefined) requiredLimits[name] = adapter.limits[name];
    const requiredFeatures = [...new Set([...features, ...USED.filter((feature) => adapter.features.has(feature))])];
    const asked = adapter.requestDevice({ requiredFeatures, requiredLimits });
    this.#device = await within(asked, `${about.device}, asked for a device,`).catch((error) => {
      if (error instanceof Absence) throw error;
      throw new Absence(`${about.device} gives no device: ${error.message}`, `Close other pages that use the GPU. ${OTHER}`);
    });
    this.#about = about;
    this.#software = software;
    this.#halves = Number(adapter.features.has('shader-f16'));
    this.#subgroup = adapter.features.has('subgroups') ? adapter.info?.subgroupMinSize ?? 0 : 0;
    this.#absence = '';
    this.#onLost = onLost;
    this.#device.addEventListener('uncapturederror', (event) => {
      event.preventDefault();
      this.#tell('hg_gpu_error', event.error.message);
    });
    this.#device.lost.then(({ reason, message }) => {
      this.#lost = message || reason || 'the browser does not say why';
      if (this.#closed) return;
      this.#tell('hg_gpu_lost', this.#lost);
      this.#onLost?.(this.#lost);
    });
  }

  get device() { return this.#device; }
  get name() { return this.#about.device; }
  get software() { return this.#software; }
  get lost() { return this.#lost; }
  // What there is of it, for tests of growth.
  get counts() {
    return { objects: this.#objects.length - 2 - this.#unused.length, buffers: this.#bytes.size,
      bytes: [...this.#bytes.values()].reduce((a, b) => a + b, 0), coming: this.#coming.size };
  }

  // When all answers that are on their way have come: copies, and errors of what was made.
  async quiet() {
    while (this.#promises.size > 0) await Promise.all(this.#promises);
    // A device that was lost says so a moment after what it did not do.
    if ([...this.#coming.values()].some((copy) => copy.state === FAILED)) await this.#grace();
  }
  // When the device has done all that was submitted.
  async finished() {
    if (this.#device !== null && this.#lost === null) await this.#device.queue.onSubmittedWorkDone().catch(() => {});
    await this.quiet();
  }
  // The bytes of a copy that was started, or null if it failed.
  async fetch(number) {
    const copy = this.#coming.get(number);
    await copy.promise;
    if (copy.state === FAILED) await this.#grace();
    const bytes = copy.state === THERE ? copy.buffer.getMappedRange(0, copy.bytes).slice(0) : null;
    this.#drop(number);
    return bytes;
  }

  close() {
    this.#closed = true;
    this.#device?.destroy();
    this.#device = null;
    this.#objects = [null, null];
    for (const map of [this.#bytes, this.#coming, this.#kept, this.#promises]) map.clear();
    this.#doomed = [];
  }

  #grace() {
    return this.#lost !== null ? undefined
      : Promise.race([this.#device?.lost, new Promise((done) => setTimeout(done, 500))]);
  }
  #expect(promise) {
    const settled = promise.finally(() => this.#promises.delete(settled));
    this.#promises.add(settled);
    return settled;
  }
  #add(object) {
    const handle = this.#unused.pop() ?? this.#objects.length;
    this.#objects[handle] = object;
    return handle;
  }
  #tell(call, message) {
    if (this.#closed || this.#exports === undefined) return;
    const bytes = this.#text.encode(message);
    const at = this.#exports.malloc(bytes.length + 1) >>> 0;
    bytesAt(this.#memory(), at, bytes.length).set(bytes);
    this.#exports[call](at, bytes.length);
    this.#exports.free(at);
  }
  #drop(number) {
    const copy = this.#coming.get(number);
    if (copy === undefined) return;
    this.#coming.delete(number);
    if (copy.state === THERE) copy.buffer.unmap();
    const kept = this.#kept.get(copy.buffer.size) ?? [];
    if (copy.state !== THERE || copy.buffer.size > MOST_KEPT_BYTES || kept.length >= KEPT_OF_A_SIZE)
      return copy.buffer.destroy();
    kept.push(copy.buffer);
    this.#kept.set(copy.buffer.size, kept);
  }

  // The imports of a module, whose memory and exports will be there when they are called.
  imports(memory, exports) {
    this.#memory = memory;
    const view = (at, length) => viewAt(memory(), at, length);
    const string = (at, length) => textAt(memory(), at, length);
    const objects = () => this.#objects;
    const device = () => this.#device;
    return {
      gpu_text: (which, to) => {
        this.#exports ??= exports();
        const { vendor = '', architecture = '', device = '', description = '' } = this.#about;
        const bytes = this.#text.encode([this.#absence, vendor, architecture, device, description][which] ?? '');
        if (to !== 0) bytesAt(memory(), to, bytes.length).set(bytes);
        return bytes.length;
      },
      gpu_number: (which) => [this.#software, this.#halves, this.#subgroup].map(Number)[which] ??
        this.#device?.limits[LIMITS[which - 3]] ?? 0,
      gpu_open: () => Number(this.#device !== null && this.#lost === null),
      gpu_close: () => this.close(),

      gpu_buffer: (size, usage) => {
        const handle = this.#add(device().createBuffer({ size, usage }));
        this.#bytes.set(handle, size);
        return handle;
      },
      gpu_shader: (code, length, label, labelLength) => this.#add(device().createShaderModule(
        { code: string(code, length), label: string(label, labelLength) })),
      gpu_layout: (slots, count) => {
        const entries = [], data = view(slots, 8 * count);
        for (let at = 0; at < 8 * count; at += 8) {
          const type = BINDINGS[data.getUint32(at + 4, true)];
          entries.push({ binding: data.getUint32(at, true), visibility: GPUShaderStage.COMPUTE,
            buffer: { type, hasDynamicOffset: type === 'uniform' } });
        }
        return this.#add(device().createBindGroupLayout({ entries }));
      },
      gpu_pipeline_layout: (layout) =>
        this.#add(device().createPipelineLayout({ bindGroupLayouts: [objects()[layout]] })),
      gpu_pipeline: (layout, module, entry, length) => this.#add(device().createComputePipeline({
        layout: objects()[layout], compute: { module: objects()[module], entryPoint: string(entry, length) } })),
      gpu_group: (layout, slots, count) => {
        const entries = [], data = view(slots, 24 * count);
        for (let at = 0; at < 24 * count; at += 24)
          entries.push({ binding: data.getUint32(at, true), resource: {
            buffer: objects()[data.getUint32(at + 4, true)],
            offset: data.getFloat64(at + 8, true), size: data.getFloat64(at + 16, true) } });
        return this.#add(device().createBindGroup({ layout: objects()[layout], entries }));
      },
      gpu_release: (handle) => {
        if (this.#bytes.delete(handle)) {
          if (this.#recording) this.#doomed.push(objects()[handle]);
          else objects()[handle]?.destroy();
        }
        this.#objects[handle] = null;
        this.#unused.push(handle);
      },
      gpu_watch: () => {
        for (const filter of ['out-of-memory', 'internal', 'validation']) device().pushErrorScope(filter);
      },
      gpu_watched: (what, length) => {
        const name = string(what, length);
        for (let i = 0; i < 3; i++)
          this.#expect(device().popErrorScope().then(
            (error) => { if (error) this.#tell('hg_gpu_error', `${name}: ${error.message}`); }, () => {}));
      },

      gpu_encoder: () => {
        this.#recording = true;
        return this.#add(device().createCommandEncoder());
      },
      gpu_pass: (encoder) => this.#add(objects()[encoder].beginComputePass()),
      gpu_set_pipeline: (pass, pipeline) => objects()[pass].setPipeline(objects()[pipeline]),
      gpu_set_group: (pass, group, offset) => objects()[pass].setBindGroup(0, objects()[group], [offset >>> 0]),
      gpu_dispatch: (pass, blocks) => objects()[pass].dispatchWorkgroups(blocks >>> 0),
      gpu_end: (pass) => objects()[pass].end(),
      gpu_copy: (encoder, from, fromOffset, to, toOffset, bytes) =>
        objects()[encoder].copyBufferToBuffer(objects()[from], fromOffset, objects()[to], toOffset, bytes),
      gpu_clear: (encoder, buffer, offset, bytes) => objects()[encoder].clearBuffer(objects()[buffer], offset, bytes),
      gpu_finish: (encoder) => this.#add(objects()[encoder].finish()),
      gpu_submit: (commands) => {
        device().queue.submit([objects()[commands]]);
        this.#recording = false;
        for (const buffer of this.#doomed) buffer.destroy();
        this.#doomed = [];
      },
      gpu_write: (buffer, offset, from, bytes) =>
        device().queue.writeBuffer(objects()[buffer], offset, bytesAt(memory(), from, bytes)),

      gpu_bring: (encoder, from, offset, bytes) => {
        const size = 2 ** Math.ceil(Math.log2(Math.max(bytes, 256)));
        const buffer = this.#kept.get(size)?.pop() ??
          device().createBuffer({ size: Math.min(size, Math.max(bytes, device().limits.maxBufferSize)),
            usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
        objects()[encoder].copyBufferToBuffer(objects()[from], offset, buffer, 0, bytes);
        this.#coming.set(++this.#numbers, { buffer, bytes, state: NOT_YET, promise: null });
        return this.#numbers;
      },
      gpu_start: (number) => {
        const copy = this.#coming.get(number);
        copy.promise = this.#expect(copy.buffer.mapAsync(GPUMapMode.READ, 0, copy.bytes).then(
          () => { copy.state = THERE; }, () => { copy.state = FAILED; }));
      },
      gpu_brought: (number) => this.#coming.get(number)?.state ?? FAILED,
      gpu_take: (number, to, bytes) => {
        bytesAt(memory(), to, bytes).set(new Uint8Array(this.#coming.get(number).buffer.getMappedRange(0, bytes)));
        this.#drop(number);
      },
      gpu_drop: (number) => this.#drop(number),
    };
  }
}
