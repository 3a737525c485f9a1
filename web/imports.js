// What a module needs of whoever runs it, and what stands in its memory.

import { HologramError } from './error.js';

// So many bytes of a memory, as they lie there. Where another thread has made it larger, the buffer at
// hand may still be the old one; growing by nothing brings the new one.
export function bytesAt(memory, at, length) {
  const begin = at >>> 0;
  if (begin + length > memory.buffer.byteLength) memory.grow(0);
  return new Uint8Array(memory.buffer, begin, length);
}
export function viewAt(memory, at, length) {
  const bytes = bytesAt(memory, at, length);
  return new DataView(bytes.buffer, bytes.byteOffset, length);
}
// A text; what is shared has to be copied before it can be read as one.
const decoder = new TextDecoder();
export const textAt = (memory, at, length) => decoder.decode(bytesAt(memory, at, length).slice());

// The module's imports: a page has no files, so that all but time, memory and messages is refused. `memory`
// gives the memory, which modules with threads import. origin: when the clock began that tells the time
// between events; threads of one runtime have the same. page: what the module calls in the page.
export function importsFor(module, memory, webgpu, origin = performance.timeOrigin, page = {}) {
  const kNotThere = 52; // ENOSYS of WASI
  const ahead = performance.timeOrigin - origin;
  const view = (at, length) => viewAt(memory(), at, length);
  const wasi = {
    clock_time_get: (clock, precision, out) => {
      const now = clock === 0 ? Date.now() : performance.now() + ahead;
      view(out, 8).setBigUint64(0, BigInt(Math.round(now * 1e6)), true);
      return 0;
    },
    environ_sizes_get: (count, bytes) => {
      view(count, 4).setUint32(0, 0, true);
      view(bytes, 4).setUint32(0, 0, true);
      return 0;
    },
    environ_get: () => 0,
    // The C library's messages; hologram itself has none.
    fd_write: (file, parts, count, written) => {
      let text = '', total = 0;
      for (let i = 0; i < count; i++) {
        const part = view(parts + 8 * i, 8), length = part.getUint32(4, true);
        text += textAt(memory(), part.getUint32(0, true), length);
        total += length;
      }
      view(written, 4).setUint32(0, total, true);
      if (text.trim() !== '') console.warn(text);
      return 0;
    },
    proc_exit: (code) => { throw new HologramError('Internal', `The runtime ended with ${code}.`); },
  };
  const imports = {};
  for (const { module: room, name, kind } of WebAssembly.Module.imports(module)) {
    imports[room] ??= {};
    if (kind === 'memory') imports[room][name] = memory();
    if (kind !== 'function') continue;
    imports[room][name] = (room === 'webgpu' ? webgpu[name] : room === 'page' ? page[name] : wasi[name]) ?? (name.startsWith('emscripten_notify') ? () => {}
      : room === 'env' ? () => -kNotThere : () => kNotThere);
  }
  return imports;
}
