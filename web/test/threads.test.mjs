// node --test web/test/threads.test.mjs: the module with threads of build-web/package, in Node. Of the
// conformance suite each HOLOGRAM_THREADS_EVERYth case is tried.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';

const folder = new URL('../../build-web/package/', import.meta.url);
const library = new URL('hologram.js', folder).href;
const { Hologram } = await import(library);
const every = Number(process.env.HOLOGRAM_THREADS_EVERY ?? 20);

// Runs the body with a runtime of so many threads.
async function having(threads, body, options = {}) {
  const hg = await Hologram.create({ threads, ...options });
  try {
    return await body(hg);
  } finally {
    hg.dispose();
  }
}
// What a program of Node that uses the library says.
const program = (text, ...flags) => new Promise((done, fail) => {
  execFile(process.execPath, [...flags, '--input-type=module', '-e', `import { Hologram } from '${library}';\n${text}`],
    { timeout: 120_000 }, (error, out, err) => error ? fail(new Error(`${error.message}\n${out}${err}`)) : done(out));
});

test('there are as many threads as were asked for', async () => {
  for (const n of [1, 2, 5]) await having(n, (hg) => assert.equal(hg.threads, n));
  await having('auto', (hg) => assert.equal(hg.threads, Math.min(availableParallelism(), 16)));
  await having('auto', (hg) => assert.equal(hg.threads, 1),
    { wasm: await readFile(new URL('hologram.wasm', folder)) });
  await having(3, (hg) => assert.equal(hg.threads, 3),
    { wasm: await readFile(new URL('hologram-threads.wasm', folder)) });
});

test('what cannot be is refused, with what to do', async () => {
  for (const threads of [0, -1, 1.5, 'many', 5000])
    await assert.rejects(Hologram.create({ threads }), (e) => e.kind === 'InvalidArgument' && /threads/.test(e.message));
  const wasm = await readFile(new URL('hologram.wasm', folder));
  await assert.rejects(Hologram.create({ threads: 2, wasm }), (e) => e.kind === 'UnsupportedOperation' &&
    /2 threads/.test(e.message) && /hologram-threads\.wasm/.test(e.remedy));
});

test('any number of threads gives the same bits', async () => {
  const works = {
    elementwise: 'sigmoid(3 * x + 0.5) * exp(-x)', sum: 'sum(x)', mean: 'mean(m, axis=0)', spread: 'std(m, axis=1)',
    largest: 'argmax(x)', softmax: 'softmax(m, axis=1)', running: 'cumsum(x)', product: 'm[:, :400] @ m[:400, :300]',
    row: 'x[:1000] @ m', sorted: 'sort(x)', gathered: 'take(x, i)', halves: 'sum(cast(x, f16) * cast(x, f16))',
    doubles: 'sum(cast(x, f64) * cast(x, f64))', turned: 'transpose(m) + m',
  };
  const numbers = Float32Array.from({ length: 1_000_000 }, (_, i) => Math.sin(i * i) * 3 ** (i % 5));
  const places = Int32Array.from({ length: 300_000 }, (_, i) => (i * 7919) % 1_000_000);
  const all = [];
  for (const n of [1, 2, 3, 8])
    all.push(await having(n, async (hg) => {
      const x = hg.tensor(numbers), m = x.reshape([1000, 1000]), i = hg.tensor(places), values = {};
      for (const [name, text] of Object.entries(works)) {
        const { inputs } = hg.describe(text), given = { x, m, i };
        const data = await hg.eval(text, Object.fromEntries(inputs.map((k) => [k, given[k]]))).data();
        values[name] = Buffer.from(data.buffer).toString('latin1');
      }
      return values;
    }));
  for (const name of Object.keys(works))
    for (const other of all.slice(1)) assert.ok(other[name] === all[0][name], name);
});

const MANDELBROT = `program mandelbrot(out y: i32[h, w], most: i32 = 100) lanes(w, h) {
  i = global_id.x
  j = global_id.y
  cx = f32(i) / f32(w) * 3.0 - 2.0
  cy = f32(j) / f32(h) * 2.0 - 1.0
  var a = 0.0
  var b = 0.0
  var n = 0
  while n < most && a * a + b * b < 4.0 {
    t = a * a - b * b + cx
    b = 2.0 * a * b + cy
    a = t
    n = n + 1
  }
  y[j, i] = n
}`;

test('programs give the same on all threads, again and again', async () => {
  const shapes = { y: [300, 400] };
  const once = await having(1, (hg) => hg.program(MANDELBROT).run({}, { shapes }).y.data());
  await having(4, async (hg) => {
    const mandelbrot = hg.program(MANDELBROT);
    for (let i = 0; i < 20; i++) assert.deepEqual(await mandelbrot.run({}, { shapes }).y.data(), once);
  });
});

test('what goes wrong on one of the threads comes to the caller, who goes on', async () => {
  await having(4, async (hg) => {
    const x = hg.tensor([1, 2, 3]);
    for (let round = 0; round < 20; round++) {
      const places = new Int32Array(200_000);
      places[(round * 9973 + 150_000) % places.length] = 7;
      await assert.rejects(hg.eval('take(x, i)', { x, i: hg.tensor(places) }).data(), /take/);
      assert.equal(await hg.ones([200_000]).sum().item(), 200_000);
    }
  });
});

test('a program without an end is ended', async () => {
  await having(4, async (hg) => {
    const forever = 'program forever(inout x: i32[n]) lanes(n) {\n  i = global_id.x\n' +
      '  while x[i] == 0 { x[i] = x[i] * 2 }\n}';
    const x = hg.tensor(new Int32Array(100_000));
    await assert.rejects(hg.run(forever, { x }, { rounds: 10_000 }), (e) => e.kind === 'Timeout');
    assert.equal(await hg.ones([200_000]).sum().item(), 200_000);
  });
});

test('memory grows while all use it', async () => {
  await having(4, async (hg) => {
    const kept = [];
    for (let i = 1; i <= 20; i++) {
      const large = hg.arange(1_000_000, { dtype: 'i32' }).mul(i);
      const data = await large.data();
      assert.ok(!(data.buffer instanceof SharedArrayBuffer));
      assert.equal(data[999_999], 999_999 * i);
      kept.push(large);
    }
    for (const [i, one] of kept.entries()) assert.equal((await one.data())[4711], 4711 * (i + 1));
  });
});

test('runtimes with threads come and go', async () => {
  const { before, after } = JSON.parse(await program(`
import { readFileSync } from 'node:fs';
const wasm = await WebAssembly.compile(readFileSync(new URL('hologram-threads.wasm', '${folder}')));
const once = async (i) => {
  const hg = await Hologram.create({ threads: 3, wasm });
  const y = hg.eval('sum(x * 2)', { x: hg.ones([1000, 100]).add(i) });
  if (await y.item() !== 200000 * (i + 1)) throw new Error('wrong');
  hg.dispose();
};
const settled = async () => {
  for (let i = 0; i < 5; i++) { gc(); await new Promise((done) => setTimeout(done, 20)); }
  const threads = Number(/Threads:\\s*(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
  return { rss: process.memoryUsage().rss / 2 ** 20, threads };
};
for (let i = 0; i < 10; i++) await once(i);
const before = await settled();
for (let i = 0; i < 100; i++) { await once(i); if (i % 10 === 0) await settled(); }
console.log(JSON.stringify({ before, after: await settled() }));`, '--expose-gc'));
  assert.ok(after.rss - before.rss < 64, `from ${before.rss} to ${after.rss} MiB`);
  assert.ok(after.threads <= before.threads, `from ${before.threads} to ${after.threads} threads`);
});

test('a program ends that does not dispose of its threads, and what it drops goes', async () => {
  assert.match(await program(`
const hg = await Hologram.create({ threads: 4 });
console.log(await hg.ones([1000000]).sum().item());`), /^1000000$/m);
  assert.match(await program(`
import { readFileSync } from 'node:fs';
const threads = () => Number(/Threads:\\s*(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
const before = threads();
await (async () => { await (await Hologram.create({ threads: 4 })).ones([1000000]).sum().item(); })();
const with_them = threads();
for (let i = 0; i < 100 && threads() > with_them - 3; i++) { gc(); await new Promise((done) => setTimeout(done, 50)); }
console.log(with_them - before >= 3 && threads() <= with_them - 3 ? 'gone' : [before, with_them, threads()].join());`,
    '--expose-gc'), /gone/);
});

test('conformance with threads', async () => {
  await having(4, async (hg) => {
    const report = await hg.selfTest(process.env.HOLOGRAM_TEST_FILTER ?? '.', { every });
    assert.deepEqual(report.failures, []);
    assert.ok(report.passed > 100, JSON.stringify(report));
    console.log(report);
  });
});
