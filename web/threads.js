// The threads of a runtime: workers (thread.js) with instances of the module that imports its memory.

import { HologramError, invalid } from './error.js';
import { moduleFrom } from './module.js';

const MOST = 16;  // that "auto" takes; each costs some milliseconds and megabytes when it begins
const PATIENCE = 30000;  // milliseconds for a worker to begin
// Of the memory, in pages of 64 KiB: what the module asks for (web/CMakeLists.txt), and what may become
// of it. A shared memory reserves that, which small devices refuse.
const INITIAL = 256, MAXIMA = [65536, 32768, 16384, 8192];

const inNode = globalThis.Worker === undefined && globalThis.process?.versions?.node !== undefined;

const mayShare = () => globalThis.crossOriginIsolated !== false && globalThis.SharedArrayBuffer !== undefined;

// Why there can be no threads here, and what to do about it; null if there can.
function hindrance() {
  if (!mayShare())
    return ['the page is not isolated from other origins, so that it has no shared memory',
      'Serve it with the headers Cross-Origin-Opener-Policy: same-origin and Cross-Origin-Embedder-Policy: ' +
      'require-corp, or leave out "threads".'];
  if (globalThis.Worker === undefined && !inNode) return ['there are no workers here', 'Leave out "threads".'];
  return null;
}

async function processors() {
  const count = globalThis.navigator?.hardwareConcurrency;
  if (count !== undefined || !inNode) return count ?? 1;
  const { availableParallelism, cpus } = await import('node:os');
  return availableParallelism?.() ?? cpus().length;
}

const impossible = (threads, [reason, remedy]) =>
  new HologramError('UnsupportedOperation', `There cannot be ${threads} threads: ${reason}.`, remedy);

function sharedMemory() {
  for (const maximum of MAXIMA) {
    try {
      return new WebAssembly.Memory({ initial: INITIAL, maximum, shared: true });
    } catch { /* less, then */ }
  }
  throw new HologramError('OutOfMemory', 'There is no address space left for shared memory.',
    'Dispose of other runtimes, or ask for one thread.');
}

// { module, memory, threads, needed }: what to make an instance of, the memory that it imports or null, how
// many threads are to be begun, and whether it has to be so many. wasm: a module that was given.
export async function choose({ threads, wasm, backend }) {
  if (threads !== 'auto' && !(Number.isInteger(threads) && threads >= 1 && threads <= 1024))
    throw invalid(`threads is a number from 1 to 1024, or "auto"; not ${threads}.`);
  const obstacle = hindrance(), needed = threads !== 'auto';
  let count = needed ? threads : obstacle !== null || backend === 'webgpu' ? 1 : Math.min(await processors(), MOST);
  if (count > 1 && obstacle !== null) throw impossible(count, obstacle);
  let module;
  try {
    module = await moduleFrom(wasm, count > 1);
  } catch (error) {
    if (needed || wasm !== undefined || count === 1) throw error;
    module = await moduleFrom(wasm, false);  // only the other one was brought along
  }
  const shares = WebAssembly.Module.imports(module).some((one) => one.kind === 'memory');
  if (shares && !mayShare())
    throw new HologramError('UnsupportedOperation', `The module that was given has threads: ${obstacle[0]}.`,
      'Give hologram.wasm, or serve the page with the headers that docs/web.md names.');
  if (!shares && count > 1) {
    if (needed) throw impossible(count, ['the module that was given has none', 'Give hologram-threads.wasm.']);
    count = 1;
  }
  return { module, memory: shares ? sharedMemory() : null, threads: count, needed };
}

// Node's workers have neither the names nor the events of those in pages. (Bundlers, which work for
// pages, are not to find this name.)
const SCRIPT = './thread.js';
const AS_IN_PAGES = `
const { parentPort, workerData } = require('node:worker_threads');
globalThis.postMessage = (message) => parentPort.postMessage(message);
globalThis.close = () => parentPort.close();
globalThis.addEventListener = (kind, listen) => parentPort.once(kind, (data) => listen({ data }));
import(workerData);`;

async function workerOfNode() {
  const { Worker } = await import('node:worker_threads');
  // Without the flags of this process, which might make a module of the text.
  return new Worker(AS_IN_PAGES, { eval: true, execArgv: [], workerData: new URL(SCRIPT, import.meta.url).href });
}
const workerOfPage = () => new Worker(new URL('./thread.js', import.meta.url), { type: 'module' });

// Whether this thread may wait for others asleep: that of a page may not.
function maySleep() {
  try {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 1);
    return true;
  } catch {
    return false;
  }
}

// Ends workers of runtimes that were dropped without being disposed of.
const dropped = new FinalizationRegistry((workers) => endAll(workers));
function endAll(workers) {
  for (const worker of workers.splice(0)) worker.terminate();
}

export class Threads {
  #exports;
  #workers = [];
  #ended = false;

  constructor(exports) {
    this.#exports = exports;
    dropped.register(this, this.#workers, this);
  }

  get count() { return 1 + this.#workers.length; }

  // Begins all but one, which is the caller's. Where they are not needed, one will do if they do not come.
  async begin({ module, memory, threads, needed }) {
    if (threads === 1) return;
    try {
      await Promise.all(Array.from({ length: threads - 1 }, () => this.#beginOne(module, memory)));
    } catch (error) {
      this.end();
      if (needed)
        throw new HologramError('BackendUnavailable', `The ${threads} threads could not be begun: ${error.message}.`,
          'Ask for fewer, or leave out "threads"; a policy of the page must allow workers from its own files.');
    }
    if (this.#workers.length > 0) this.#exports.hg_threads(this.#workers.length, Number(maySleep()));
  }

  async #beginOne(module, memory) {
    const at = this.#exports.hg_thread_memory() >>> 0;
    if (at === 0) throw new HologramError('OutOfMemory', 'there is no memory for its stack');
    const worker = inNode ? await workerOfNode() : workerOfPage();
    this.#workers.push(worker);
    if (this.#ended) endAll(this.#workers);  // another one failed meanwhile
    let timer;
    await new Promise((begun, fail) => {
      const failed = (event) => fail(new Error(event?.message || 'a worker does not start'));
      timer = setTimeout(failed, PATIENCE);
      if (inNode) worker.on('message', begun).on('error', failed).on('exit', () => failed());
      else {
        worker.onmessage = begun;
        worker.onerror = (event) => { event.preventDefault?.(); failed(event); };
      }
      worker.postMessage({ module, memory, at, origin: performance.timeOrigin });
    }).finally(() => clearTimeout(timer));
    worker.unref?.();  // Node's does not keep the program from ending
  }

  // They cannot be begun again.
  end() {
    this.#ended = true;
    if (this.#workers.length === 0) return;
    this.#exports.hg_threads(0, Number(maySleep()));
    endAll(this.#workers);
  }
}
