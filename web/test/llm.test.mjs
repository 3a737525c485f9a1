// node --test web/test/llm.test.mjs: language models in build-web/package, in Node: a model of random
// numbers, and stories260K where tests/llm/models.hpp finds it. Where the command is built, it and this say
// the same.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { modelFile, randomModel } from './models.mjs';

const folder = new URL('../../build-web/package/', import.meta.url);
const { Hologram } = await import(new URL('hologram.js', folder));
const command = fileURLToPath(new URL('../../build/bin/hologram', import.meta.url));
const bytes = randomModel();

let hg, model;
before(async () => {
  hg = await Hologram.create({ backend: 'cpu', threads: 1 });
  model = await hg.loadModel(bytes);
});
after(() => hg.dispose());

// What the command generates from a file.
function ofCommand(file, prompt, tokens) {
  const said = execFileSync(command, ['generate', file, prompt, '--raw', '--greedy', '--max-tokens', String(tokens), '--json'],
    { env: { ...process.env, HOLOGRAM_BACKEND: 'cpu' }, stdio: ['ignore', 'pipe', 'ignore'] });
  return JSON.parse(said);
}

test('a model tells what it is', () => {
  assert.equal(model.architecture, 'llama');
  assert.equal(model.context, 256);
  assert.equal(model.vocabulary, 101);
  assert.equal(model.hasChatTemplate, true);
});

test('texts become tokens, and those texts', () => {
  const tokens = model.tokenize('ab c');
  assert.deepEqual(tokens, [1, 6, 71, 72, 6, 73]);  // it begins with <s> and a space
  assert.equal(model.textOf(tokens.slice(1)).trim(), 'ab c');
  assert.deepEqual(model.tokenize('a<|im_end|>', { special: true }).at(-1), 4);
  assert.deepEqual(model.tokenize([{ role: 'user', content: 'x' }]).slice(0, 2), [1, 3]);
});

test('it says what the command says', { skip: existsSync(command) ? false : 'build/bin/hologram is not built' }, async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'hologram-model-'));
  try {
    const file = join(scratch, 'random.gguf');
    await writeFile(file, bytes);
    const said = ofCommand(file, 'Hello there', 60);
    const { tokens, text, promptTokens } = await model.generate('Hello there', { greedy: true, maxTokens: 60 });
    assert.deepEqual({ tokens, text, promptTokens }, { tokens: said.tokens, text: said.text, promptTokens: said.prompt_tokens });
  } finally {
    await rm(scratch, { recursive: true });
  }
});

// The beginning that llama.cpp gives, too; the last token depends on the bits of the weights.
const STORY = [432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426, 338, 401, 396, 267, 337, 410, 408, 419, 292, 411, 322, 265];
for (const [type, last] of [['F32', 282], ['Q8_0', 282], ['Q4_0', 262]]) {
  const name = `stories260K-${type}.gguf`, file = modelFile(name);
  test(`${name} tells its story`, { skip: file ? false : `${name} is not there: see tests/llm/models_test.cpp` }, async () => {
    const stories = await readFile(file);
    for (const threads of [1, 2]) {
      const other = await Hologram.create({ backend: 'cpu', threads });
      const told = await (await other.loadModel(new Blob([stories]))).generate('Once upon a time', { greedy: true, maxTokens: 24 });
      assert.deepEqual(told.tokens, [...STORY, last]);
      assert.ok(told.text.startsWith(', there was a little girl named Lily. She loved to play outside'), told.text);
      if (existsSync(command)) assert.deepEqual(ofCommand(file, 'Once upon a time', 24).tokens, told.tokens);
      other.dispose();
    }
  });
}

test('tokens come one by one, and make the text', async () => {
  const heard = [];
  const made = await model.generate('Hello', { greedy: true, maxTokens: 20 }, (step) => { heard.push(step); });
  assert.deepEqual(heard.map((s) => s.token).filter((t) => t !== null), made.tokens);
  assert.equal(heard.map((s) => s.text).join(''), made.text);
  assert.equal(made.tokens.length, 20);
  assert.equal(made.finishReason, 'length');
  assert.ok(made.prefillSeconds > 0 && made.tokensPerSecond > 0);
});

test('a caller ends it', async () => {
  let steps = 0;
  const one = await model.generate('Hello', { greedy: true }, () => ++steps < 3);
  assert.deepEqual([one.tokens.length, one.finishReason], [3, 'cancelled']);
  const controller = new AbortController();
  const other = await model.generate('Hello', { greedy: true, signal: controller.signal }, () => { controller.abort(); });
  assert.deepEqual([other.tokens.length, other.finishReason], [1, 'cancelled']);
  const { text } = await model.generate('Hello', { greedy: true, maxTokens: 12 });
  const stopped = await model.generate('Hello', { greedy: true, stop: text.slice(2, 4) });
  assert.equal(stopped.finishReason, 'stop');
  assert.ok(text.startsWith(stopped.text) && stopped.text.length <= 2);
});

test('messages, tokens and seeds', async () => {
  const messages = [{ role: 'user', content: 'Hi' }], options = { maxTokens: 6, seed: 7, temperature: 1 };
  const first = await model.generate(messages, options);
  assert.deepEqual((await model.generate(model.tokenize(messages), options)).tokens, first.tokens);
  assert.equal(first.promptTokens, model.tokenize(messages).length);
  const other = await model.generate(messages, { ...options, seed: 8 });
  assert.notDeepEqual(other.tokens, first.tokens);
});

test('answers at the same time do not disturb each other', async () => {
  const options = { greedy: true, maxTokens: 15 };
  const alone = [];
  for (const prompt of ['one', 'two', 'three']) alone.push((await model.generate(prompt, options)).tokens);
  const together = await Promise.all(['one', 'two', 'three'].map((prompt) => model.generate(prompt, options)));
  assert.deepEqual(together.map((g) => g.tokens), alone);
});

test('JSON by a schema', async () => {
  const { text } = await model.generate('Hello', { maxTokens: 200, jsonSchema: { enum: ['yes', 'no'] } });
  assert.ok(['yes', 'no'].includes(JSON.parse(text)), text);
});

test('mistakes are errors that say what to do', async () => {
  const before = hg.memory.live;
  for (const [call, kind, message] of [
    [() => hg.loadModel('model.gguf'), 'InvalidArgument', /ArrayBuffer/],
    [() => hg.loadModel(bytes.subarray(0, 5000), { name: 'half.gguf' }), 'IoError', /half\.gguf/],
    [() => hg.loadModel(new Uint8Array(100)), 'IoError', /the model/],
    [() => hg.loadModel(bytes, { contexts: 3 }), 'InvalidArgument', /contexts.*context/],
    [() => hg.loadModel(bytes, { cache: 'i8' }), 'InvalidArgument', /f16/],
    [() => model.generate([], {}), 'InvalidArgument', /prompt/],
    [() => model.generate('a', { tokens: 3 }), 'InvalidArgument', /maxTokens/],
    [() => model.generate('a', { maxTokens: 'many' }), 'InvalidArgument', /maxTokens/],
    [() => model.generate([5000], {}), 'InvalidArgument', /5000/],
    [() => model.generate('a'.repeat(300), {}), undefined, /256/],
  ]) {
    await assert.rejects(async () => call(), (e) => {
      assert.match(e.message + e.remedy, message);
      if (kind) assert.equal(e.kind, kind, e.message);
      return true;
    }, String(call));
  }
  assert.equal(hg.memory.live, before);
});

test('its memory is given back', async () => {
  const before = hg.memory.live;
  const other = await hg.loadModel(bytes);
  await other.generate('a', { maxTokens: 2 });
  assert.ok(hg.memory.live > before);
  other.dispose();
  other.dispose();
  assert.equal(hg.memory.live, before);
  assert.throws(() => other.tokenize('a'), /disposed/);
});
