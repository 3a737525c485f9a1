// Language models: a GGUF file that answers, on the processor or the GPU of a page.

import { HologramError, invalid } from './error.js';
import { bytesAt } from './imports.js';

const PATIENCE = 15;  // milliseconds without a turn for the page

const turn = () => new Promise((done) => setTimeout(done));

// The bytes of a file, piece by piece, as it may be larger than one piece of JavaScript's memory.
async function* piecesOf(source) {
  if (source instanceof Blob) {
    const reader = source.stream().getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } else if (ArrayBuffer.isView(source)) yield new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  else yield new Uint8Array(source);
}

const isSource = (source) => source instanceof Blob || ArrayBuffer.isView(source) || source instanceof ArrayBuffer ||
  (typeof SharedArrayBuffer !== 'undefined' && source instanceof SharedArrayBuffer);

// Models that nobody has any more go without being disposed of.
const registry = new FinalizationRegistry(({ calls, handle }) => calls.dispose(handle));

export class LanguageModel {
  #calls;
  #handle;

  // calls: of the runtime, see Hologram.loadModel.
  static async load(calls, source, { name, onProgress, ...options } = {}) {
    if (!isSource(source)) throw invalid('A model is an ArrayBuffer, a typed array, or a Blob such as a File.');
    const total = source.size ?? source.byteLength, at = calls.allocate(total);
    let model;
    try {
      let loaded = 0;
      for await (const piece of piecesOf(source)) {
        if (loaded + piece.length > total) throw invalid('The file has grown while it was read.');
        bytesAt(calls.memory, at + loaded, piece.length).set(piece);
        loaded += piece.length;
        onProgress?.({ loaded, total });
      }
      if (loaded < total) throw invalid('The file has shrunk while it was read.');
      const request = JSON.stringify({ name: name ?? source.name ?? 'the model', options });
      model = await calls.attempt('hg_model', request, at, total);
    } catch (error) {
      calls.free(at);
      throw error;
    }
    return new LanguageModel(calls, model.handle, JSON.parse(model.text));
  }

  constructor(calls, handle, { architecture, context, vocabulary, chats, seconds }) {
    this.#calls = calls;
    this.#handle = handle;
    Object.assign(this, { architecture, context, vocabulary, hasChatTemplate: chats, loadSeconds: seconds });
    registry.register(this, { calls, handle }, this);
  }

  get handle() {
    if (this.#handle === 0) throw invalid('The model was disposed of.');
    return this.#handle;
  }

  // The tokens of a text, or of messages as the model was trained to see them.
  tokenize(prompt, { special = false } = {}) {
    return this.#calls.ask('hg_tokens', { ...this.#beginning(prompt), special });
  }
  textOf(tokens) { return this.#calls.ask('hg_text_of', { model: this.handle, tokens: [...tokens] }); }

  // Continues a text, tokens, or a list of messages, [{ role: 'user', content: 'Hi' }], to which it
  // answers. onToken gets { token, text } for each new token, where the text may be empty, as it comes
  // in whole characters; at the end there may be text without a token. `false` ends the answer, and so
  // does an AbortSignal as `signal`. Resolves with { text, tokens, finishReason, promptTokens, reusedTokens,
  // prefillSeconds, decodeSeconds, tokensPerSecond }.
  async generate(prompt, { signal, stop = [], jsonSchema, ...options } = {}, onToken) {
    const request = { ...this.#beginning(prompt), options: { ...options, stop: [stop].flat() } };
    if (jsonSchema !== undefined)
      request.options.jsonSchema = typeof jsonSchema === 'string' ? jsonSchema : JSON.stringify(jsonSchema);
    const calls = this.#calls, answer = calls.answer(request);
    try {
      let last = performance.now();
      for (;;) {
        if (signal?.aborted) calls.cancel(answer);
        else await calls.attempt('hg_answer_begin', answer);
        const { tokens, text, whole } = JSON.parse((await calls.attempt('hg_answer_end', answer)).text);
        if ((tokens.length > 0 || text !== '') && onToken?.({ token: tokens[0] ?? null, text }) === false && !whole)
          calls.cancel(answer);
        if (whole) return { ...whole, tokensPerSecond: Math.max(whole.tokens.length - 1, 0) / (whole.decodeSeconds || Infinity) };
        if (performance.now() - last < PATIENCE) continue;
        await turn();
        last = performance.now();
      }
    } finally {
      calls.end(answer);
    }
  }

  // Frees the memory now rather than when the model is collected.
  dispose() {
    if (this.#handle === 0) return;
    registry.unregister(this);
    this.#calls.dispose(this.#handle);
    this.#handle = 0;
  }

  #beginning(prompt) {
    if (typeof prompt === 'string') return { model: this.handle, prompt };
    const list = ArrayBuffer.isView(prompt) ? [...prompt] : prompt;
    if (!Array.isArray(list) || list.length === 0)
      throw invalid('A prompt is a text, a list of tokens, or a list of messages { role, content }.');
    if (typeof list[0] === 'object') {
      if (!this.hasChatTemplate)
        throw new HologramError('UnsupportedOperation', 'The model has no chat template.', 'Give it a text to go on with.');
      return { model: this.handle, messages: list };
    }
    return { model: this.handle, tokens: list };
  }
}
