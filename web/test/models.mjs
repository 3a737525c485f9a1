// Models for the tests: one of random numbers, and those that tests/llm/models.hpp looks for.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const folder = process.env.HOLOGRAM_MODELS ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'hologram/models');

// Where a model is, or undefined.
export function modelFile(name) {
  const file = join(folder, name);
  return existsSync(file) ? file : undefined;
}

const U32 = 4, F32 = 6, TEXT = 8, ARRAY = 9, I32 = 5;  // GGUF's types of values
const ALIGNMENT = 32;

// The bytes of a GGUF file: { name: [type, value] } and { name: [shape, Float32Array] }.
export function ggufOf(metadata, tensors) {
  const parts = [];
  const number = (bytes, set, value) => {
    const data = Buffer.alloc(bytes);
    data[set](value);
    parts.push(data);
  };
  const count = (value) => number(8, 'writeBigUInt64LE', BigInt(value));
  const word = (value) => number(4, 'writeUInt32LE', value);
  const text = (value) => {
    const data = Buffer.from(value);
    count(data.length);
    parts.push(data);
  };
  const write = { [U32]: word, [I32]: (v) => number(4, 'writeInt32LE', v), [F32]: (v) => number(4, 'writeFloatLE', v), [TEXT]: text };
  parts.push(Buffer.from('GGUF'));
  word(3);
  count(Object.keys(tensors).length);
  count(Object.keys(metadata).length);
  for (const [name, [type, value]] of Object.entries(metadata)) {
    text(name);
    if (Array.isArray(value)) {
      word(ARRAY);
      word(type);
      count(value.length);
      value.forEach(write[type]);
    } else {
      word(type);
      write[type](value);
    }
  }
  const padded = (bytes) => Math.ceil(bytes / ALIGNMENT) * ALIGNMENT;
  let offset = 0;
  for (const [name, [shape, data]] of Object.entries(tensors)) {
    text(name);
    word(shape.length);
    [...shape].reverse().forEach(count);  // innermost first
    word(0);                              // f32
    count(offset);
    offset += padded(data.byteLength);
  }
  const head = Buffer.concat(parts), file = Buffer.alloc(padded(head.length) + offset);
  head.copy(file);
  let at = padded(head.length);
  for (const [, data] of Object.values(tensors)) {
    Buffer.from(data.buffer, data.byteOffset, data.byteLength).copy(file, at);
    at += padded(data.byteLength);
  }
  return file;
}

// A Llama of two layers and random numbers, with a template of ChatML.
export function randomModel() {
  const width = 64, heads = 4, keyHeads = 2, head = 16, wide = 96, layers = 2;
  const pieces = ['<unk>', '<s>', '</s>', '<|im_start|>', '<|im_end|>', '\n', '\u2581',
    ...Array.from({ length: 94 }, (_, i) => String.fromCharCode(33 + i))];
  let state = 1;
  const drawn = (length, middle = 0, spread = 1) => Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return middle + spread * (state / 2 ** 31 - 1);
  });
  const a = (name) => `llama.${name}`;
  const metadata = {
    'general.architecture': [TEXT, 'llama'],
    [a('block_count')]: [U32, layers], [a('embedding_length')]: [U32, width], [a('feed_forward_length')]: [U32, wide],
    [a('context_length')]: [U32, 256], [a('attention.head_count')]: [U32, heads],
    [a('attention.head_count_kv')]: [U32, keyHeads], [a('attention.layer_norm_rms_epsilon')]: [F32, 1e-5],
    'tokenizer.ggml.model': [TEXT, 'llama'],
    'tokenizer.ggml.tokens': [TEXT, pieces],
    'tokenizer.ggml.scores': [F32, pieces.map(() => 0)],
    'tokenizer.ggml.token_type': [I32, pieces.map((_, i) => [2, 3, 3, 3, 3][i] ?? 1)],
    'tokenizer.ggml.bos_token_id': [U32, 1], 'tokenizer.ggml.eos_token_id': [U32, 2],
    'tokenizer.chat_template': [TEXT, '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n' +
      "{% endfor %}<|im_start|>assistant{{ '\n' }}"],
  };
  const tensors = {};
  const matrix = (name, rows, columns) => {
    tensors[`${name}.weight`] = [[rows, columns], drawn(rows * columns, 0, 2 / Math.sqrt(columns))];
  };
  const norm = (name) => { tensors[`${name}.weight`] = [[width], drawn(width, 1, 0.25)]; };
  matrix('token_embd', pieces.length, width);
  norm('output_norm');
  for (let i = 0; i < layers; i++) {
    const p = `blk.${i}.`;
    for (const name of ['attn_norm', 'ffn_norm']) norm(p + name);
    matrix(`${p}attn_q`, heads * head, width);
    for (const name of ['attn_k', 'attn_v']) matrix(p + name, keyHeads * head, width);
    matrix(`${p}attn_output`, width, heads * head);
    for (const name of ['ffn_gate', 'ffn_up']) matrix(p + name, wide, width);
    matrix(`${p}ffn_down`, width, wide);
  }
  return ggufOf(metadata, tensors);
}
