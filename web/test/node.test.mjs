// node --test web/test: the built module in build-web/package, in Node. The conformance suite's cases
// are chosen by HOLOGRAM_TEST_FILTER, and of those one in HOLOGRAM_TEST_EVERY.
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { randomModel } from './models.mjs';

const folder = new URL('../../build-web/package/', import.meta.url);
const { Hologram, HologramError } = await import(new URL('hologram.js', folder));
const hg = await Hologram.create({ threads: 1 });

test('the modules ask for nothing that only another library has', async () => {
  for (const [name, needed] of [['hologram.wasm', []], ['hologram-threads.wasm', ['env.memory']]]) {
    const module = await WebAssembly.compile(await readFile(new URL(name, folder)));
    const known = /^(wasi_snapshot_preview1|webgpu)[.]|^page[.]apply$|^env[.](__syscall_|emscripten_notify_memory_growth$)/;
    const others = WebAssembly.Module.imports(module).map((i) => `${i.module}.${i.name}`).filter((name) => !known.test(name));
    assert.deepEqual(others, needed, name);
  }
});

test('tensors go in and out', async () => {
  const a = hg.tensor([[1, 2, 3], [4, 5, 6]]);
  assert.deepEqual(a.shape, [2, 3]);
  assert.equal(a.dtype, 'f32');
  assert.deepEqual(await a.array(), [[1, 2, 3], [4, 5, 6]]);
  assert.deepEqual(await hg.tensor(new Int32Array([7, 8])).data(), new Int32Array([7, 8]));
  assert.deepEqual(await hg.tensor([1n, -2n]).data(), new BigInt64Array([1n, -2n]));
  assert.deepEqual(await hg.tensor([], { shape: [0, 4] }).array(), []);
  assert.equal(await hg.tensor(2.5).item(), 2.5);
  assert.deepEqual(await hg.tensor([0.5, 1, -2]).cast('f16').data(), new Uint16Array([0x3800, 0x3c00, 0xc000]));
});

// The table of tests/answers_test.cpp: expressions whose answers were wrong once.
const { default: answers } = await import('../../tests/answers.json', { with: { type: 'json' } });
for (const [group, table] of Object.entries(answers))
  test(`answers, ${group}`, async () => {
    for (const { text, right, within = 0 } of table.answers) {
      const results = await hg.evaluate(text);
      const result = results.cast ? results : Object.values(results).at(-1);
      const got = await result.cast('f64').data();
      assert.equal(got.length, right.length, text);
      right.map((x) => Number(String(x).replace('inf', 'Infinity'))).forEach((x, i) => {
        const is = Object.is(got[i], x) || got[i] === x || Math.abs(got[i] - x) <= within * Math.abs(x);
        assert.ok(is, `${text}: ${got[i]} for ${x}`);
      });
    }
  });

test('expressions and methods are the same functions', async () => {
  const a = hg.tensor([[1, 2], [3, 4]]), b = hg.tensor([[0.5, -1], [2, 0]]);
  const whole = hg.eval('sum(sigmoid(a @ b + 1), axis=0)', { a, b });
  const steps = a.matmul(b).add(1).sigmoid().sum({ axis: 0 });
  assert.deepEqual(await whole.data(), await steps.data());
  const expected = [[4.5, -1], [9.5, -3]];
  const sigmoid = (x) => 1 / (1 + Math.exp(-(x + 1)));
  (await whole.data()).forEach((v, j) =>
    assert.ok(Math.abs(v - sigmoid(expected[0][j]) - sigmoid(expected[1][j])) < 1e-6));
  assert.deepEqual(await hg.concat([a, b], 1).array(), [[1, 2, 0.5, -1], [3, 4, 2, 0]]);
  const { mean, spread } = hg.eval('mean = mean(x); spread = std(x)', { x: [1, 2, 3, 4] });
  assert.equal(await mean.item(), 2.5);
  assert.ok(Math.abs(await spread.item() - Math.sqrt(1.25)) < 1e-6);
});

test('integers of 64 bits stay what they are', async () => {
  for (const n of [9007199254740993n, -9007199254740993n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 63n, 2n ** 64n - 1n]) {
    assert.equal(await hg.eval('x', { x: n }).item(), n);
    assert.equal(await hg.tensor([n]).item(), n);
    assert.equal(await hg.tensor([0n], { dtype: n < 2n ** 63n ? 'i64' : 'u64' }).add(n).item(), n);
  }
  assert.throws(() => hg.eval('x', { x: 2n ** 64n }), HologramError);
  assert.throws(() => hg.tensor([2n ** 64n]), HologramError);
  assert.throws(() => hg.tensor([-1n], { dtype: 'u64' }), HologramError);
  assert.equal(await hg.tensor([1], { dtype: 'f64' }).mul([0.1]).item(), 0.1);
  assert.equal(await hg.tensor([1], { dtype: 'f64' }).mul(1e20).item(), 1e20);
});

test('Atlas programs run', async () => {
  const saxpy = hg.program('program saxpy(in x: f32[n], inout y: f32[n], a: f32) lanes(n) {\n' +
    '  i = global_id.x\n  y[i] = fma(a, x[i], y[i])\n}');
  const { y } = saxpy.run({ x: [1, 2, 3], y: [10, 20, 30], a: 2 });
  assert.deepEqual(await y.data(), new Float32Array([12, 24, 36]));
  assert.match(saxpy.show('opencl'), /__kernel/);
  assert.throws(() => saxpy.show('cobol'), HologramError);
  assert.deepEqual(saxpy.parameters, {
    name: 'saxpy', scalars: [{ name: 'a', dtype: 'f32' }],
    buffers: [{ name: 'x', access: 'in', dtype: 'f32', shape: ['n'] },
      { name: 'y', access: 'inout', dtype: 'f32', shape: ['n'] }],
  });
  const more = hg.program('program more(in x: f32[], n: i32 = -3, s: f32 = 0.5, yes: bool = true) {}');
  assert.equal(more.parameters.buffers[0].shape, null);
  assert.deepEqual(more.parameters.scalars.map((s) => s.default), [-3, 0.5, true]);
});

test('kernels behind tensors can be seen', () => {
  assert.deepEqual(hg.describe('y = a * b; y + c'), { inputs: ['a', 'b', 'c'], outputs: ['y', ''] });
  const x = hg.tensor([1, 2, 3]);
  const [kernel, ...others] = hg.kernels(x.mul(2).sigmoid(), 'wgsl');
  assert.equal(others.length, 0);
  assert.match(kernel.text, /@compute/);
  assert.match(hg.kernels([x.exp()])[0].text, /^program /m);
});

test('errors say what is wrong and where', () => {
  assert.throws(() => hg.eval('a + ', { a: 1 }), (e) => e instanceof HologramError &&
    e.kind === 'InvalidProgram' && e.message.includes('^'));
  assert.throws(() => hg.eval('a + b', { a: 1 }), (e) => e.remedy.length > 0);
  assert.throws(() => hg.tensor([[1, 2], [3]]), /rows/);
  assert.throws(() => hg.tensor([1, 2], { shape: [3] }), /bytes/);
  assert.throws(() => hg.tensor([1, 2]).matmul(hg.tensor([1, 2, 3])), HologramError);
  assert.throws(() => hg.program('program p('), (e) => e.kind === 'InvalidProgram');
  const gone = hg.tensor([1]);
  gone.dispose();
  assert.throws(() => gone.exp(), /disposed/);
  return assert.rejects(Hologram.create({ backend: 'cuda' }), /no backend cuda/);
});

test('runtimes come and go', async () => {
  const module = await WebAssembly.compile(
    await (await import('node:fs/promises')).readFile(new URL('hologram.wasm', folder)));
  for (let i = 0; i < 100; i++) {
    const one = await Hologram.create({ wasm: module });
    assert.equal(await one.tensor([i, 1]).sum().item(), i + 1);
    one.dispose();
  }
});

test('what is dropped is freed', async () => {
  for (let i = 0; i < 300; i++) {
    const big = hg.zeros([1024, 1024]);  // 1.2 GB in all
    assert.equal((await big.data()).length, 1 << 20);
    big.dispose();
  }
});

test('the examples of the documentation run', async () => {
  const text = await readFile(new URL('../../docs/web.md', import.meta.url), 'utf8');
  const examples = [...text.matchAll(/```js\n([^]*?)```/g)].map((m) => m[1]).filter((e) => e.includes('Hologram.create'));
  assert.ok(examples.length >= 3);
  const scratch = await mkdtemp(join(tmpdir(), 'hologram-examples-')), home = process.cwd();
  try {
    await writeFile(join(scratch, 'model.gguf'), randomModel());
    process.chdir(scratch);
    for (const [i, example] of examples.entries()) {
      const file = join(scratch, `example${i}.mjs`);
      await writeFile(file, example.replace("from 'hologram'", `from '${new URL('hologram.js', folder)}'`));
      await import(pathToFileURL(file));
    }
  } finally {
    process.chdir(home);
    await rm(scratch, { recursive: true });
  }
});

test('conformance', async () => {
  const every = Number(process.env.HOLOGRAM_TEST_EVERY ?? 1);
  const report = await hg.selfTest(process.env.HOLOGRAM_TEST_FILTER ?? '/f32/', { every });
  assert.deepEqual(report.failures, []);
  assert.ok(report.passed > 100, JSON.stringify(report));
  console.log(report);
});
