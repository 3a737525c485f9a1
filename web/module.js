// The WebAssembly module, and what it needs of whoever runs it.

import { HologramError } from './tensor.js';

// The module's imports: a page has no files, so that all but time, memory and messages is refused.
export function importsFor(module, memory, webgpu) {
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
    imports[room][name] = (room === 'webgpu' ? webgpu[name] : wasi[name]) ?? (name.startsWith('emscripten_notify') ? () => {}
      : room === 'env' ? () => -kNotThere : () => kNotThere);
  }
  return imports;
}

// The bytes of the module: given, or beside this file.
export async function moduleFrom(source) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  // Bundlers look for this very expression and bring the file along.
  const beside = new URL('hologram.wasm', import.meta.url);
  const url = source === undefined ? beside : new URL(source, import.meta.url);
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
