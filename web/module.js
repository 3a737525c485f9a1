// The WebAssembly modules: the one that any page can use, and the one with threads.

import { HologramError } from './error.js';

// Bundlers look for these very expressions and bring the files along.
const beside = (threads) => threads ? new URL('hologram-threads.wasm', import.meta.url)
  : new URL('hologram.wasm', import.meta.url);

// A module that was given (its URL, bytes, or itself), or the one beside this file.
export async function moduleFrom(source, threads) {
  if (source instanceof WebAssembly.Module) return source;
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return WebAssembly.compile(source);
  const url = source === undefined ? beside(threads) : new URL(source, import.meta.url);
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
