// node --test web/test/browser.test.mjs: the package of build-web/package in a page of Chromium without a
// window, on the CPU and by WebGPU on the adapter that Chromium has, which is software where there is no GPU.
// Of the conformance suite each HOLOGRAM_CPU_EVERYth and HOLOGRAM_WEBGPU_EVERYth case is tried, 1 for all,
// of those whose names match HOLOGRAM_TEST_FILTER, for HOLOGRAM_WEB_SECONDS on each backend.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Chromium, findChromium, serve } from './chromium.mjs';
import { modelFile, randomModel } from './models.mjs';

const built = fileURLToPath(new URL('../../build-web/package', import.meta.url));
const skip = findChromium() ? false : 'there is no Chromium: install the package chromium';
const filter = process.env.HOLOGRAM_TEST_FILTER ?? '';
const every = { cpu: Number(process.env.HOLOGRAM_CPU_EVERY ?? 50), webgpu: Number(process.env.HOLOGRAM_WEBGPU_EVERY ?? 400) };
const seconds = Number(process.env.HOLOGRAM_WEB_SECONDS ?? 30);
// SwiftShader compiles these in milliseconds, and functions like exp in seconds.
const soon = '^(add|sub|mul|abs|minimum|maximum|clamp|floor|relu|eq|lt|is[a-z]*|logical_.*|bitwise_.*|shift_.*|where|sum|max|min'
  + '|arg[a-z]*|any|all|cumsum|concat|split|pad|put|take|gather|scatter.*|roll|repeat|tile|slice|full|arange|eye|tri)/';

let folder, site, browser, page;
// A page with the package: Hologram is there as a global.
async function open(one) {
  const opened = await one.open(site.url);
  await opened.evaluate(async () => { Object.assign(globalThis, await import('/hologram/hologram.js')); });
  return opened;
}
before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), 'hologram-site-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>hologram</title><link rel="icon" href="data:,">');
  site = await serve({ '/': folder, '/hologram/': built });
  browser = await Chromium.launch();
  page = await open(browser);
  await page.evaluate(async () => { globalThis.hg = await Hologram.create({ backend: 'webgpu' }); });
});
after(async () => {
  await browser?.close();
  await site?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

// What a promise in the page is rejected with: { kind, message, remedy }.
const failure = (body, ...args) => page.evaluate(`async (...args) => {
  try { await (${body})(...args); } catch (e) { return { kind: e.kind, message: e.message, remedy: e.remedy }; }
  return null;
}`, ...args);

test('devices are listed, and the one that was named is used', { skip }, async () => {
  const { devices, device, why, auto, reason } = await page.evaluate(async () => {
    const auto = await Hologram.create();
    const all = { devices: await Hologram.devices(), device: hg.device, why: hg.why, auto: auto.device, reason: auto.why };
    auto.dispose();
    return all;
  });
  assert.deepEqual(devices.map((d) => d.backend), ['webgpu', 'cpu']);
  assert.equal(device.backend, 'webgpu');
  assert.equal(device.name, devices[0].name);
  assert.match(why, /by name/);
  assert.ok(device.limits.bytes >= 1 << 27 && device.limits.lanes >= 128 && device.limits.buffers >= 7);
  assert.ok(device.dtypes.includes('i64') && !device.dtypes.includes('f64'));
  if (device.software) {
    assert.equal(auto.backend, 'cpu');
    assert.match(reason, /software/);
  } else assert.match(reason, / ms/);
});

// In f32, where both have the same numbers but for their last bits.
test('a language model writes the same by WebGPU as on the CPU', { skip }, async () => {
  const file = modelFile('stories260K-F32.gguf');
  const bytes = file ? await readFile(file) : randomModel();
  const [gpu, cpu] = await page.evaluate(async (base64) => {
    const file = new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))]);
    const all = [], other = await Hologram.create({ backend: 'cpu' });
    for (const runtime of [hg, other]) {
      const model = await runtime.loadModel(file, { context: 128, cache: 'f32' });
      all.push((await model.generate('Once upon a time', { greedy: true, maxTokens: 16 })).tokens);
      model.dispose();
    }
    other.dispose();
    return all;
  }, bytes.toString('base64'));
  assert.deepEqual(gpu, cpu);
});

test('automatic choice takes what was faster when it was tried', { skip }, async () => {
  const [backend, why, again] = await page.evaluate(async () => {
    const one = await Hologram.create({ software: true }), other = await Hologram.create({ software: true });
    const all = [one.backend, one.why, other.why];
    one.dispose();
    other.dispose();
    return all;
  });
  assert.match(why, /^(cpu|webgpu), as webgpu took [\d.]+ ms where cpu took [\d.]+ ms$/);
  assert.ok(why.startsWith(backend));
  assert.equal(again, why);
});

test('tensors, expressions and programs by WebGPU', { skip }, async () => {
  const all = await page.evaluate(async () => {
    const a = hg.tensor([[1, 2], [3, 4]]), picture = hg.image(new OffscreenCanvas(3, 2));
    const saxpy = hg.program(`program saxpy(in x: f32[n], inout y: f32[n], a: f32) lanes(n) {
      i = global_id.x
      y[i] = fma(a, x[i], y[i])
    }`);
    const y = hg.tensor([10, 20, 30]);
    const run = await hg.run(saxpy, { x: [1, 2, 3], y, a: 2 });
    const canvas = await hg.linspace(0, 1, 6).reshape([2, 3]).toCanvas(new OffscreenCanvas(1, 1));
    const [first, second] = await Promise.all([a.matmul(a).array(), a.sigmoid().sum({ axis: 0 }).array()]);
    return {
      first, second, picture: picture.shape, run: await run.outputs.y.array(), seconds: run.seconds, y: await y.array(),
      turned: await a.transpose().array(), part: await hg.eval('a[:, 1]', { a }).array(), empty: await hg.zeros([0, 3]).array(),
      types: await Promise.all(['bool', 'i8', 'u16', 'i64', 'f16', 'f32'].map(async (t) => Array.from(await a.cast(t).data(), Number))),
      padded: await hg.eval('pad(a, [[1, 0], [0, 0]])', { a }).array(), width: canvas.width,
      bytes: [...(await hg.tensor(Uint8Array.from({ length: 7 }, (_, i) => i)).data())],
    };
  });
  assert.deepEqual(all.first, [[7, 10], [15, 22]]);
  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  all.second.forEach((v, j) => assert.ok(Math.abs(v - sigmoid(j + 1) - sigmoid(j + 3)) < 1e-6));
  assert.deepEqual(all.run, [12, 24, 36]);
  assert.deepEqual(all.y, [10, 20, 30]);
  assert.ok(all.seconds > 0);
  assert.deepEqual(all.turned, [[1, 3], [2, 4]]);
  assert.deepEqual(all.part, [2, 4]);
  assert.deepEqual(all.empty, []);
  assert.deepEqual(all.types, [[1, 1, 1, 1], [1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4], [0x3c00, 0x4000, 0x4200, 0x4400], [1, 2, 3, 4]]);
  assert.deepEqual(all.padded, [[0, 0], [1, 2], [3, 4]]);
  assert.deepEqual(all.picture, [2, 3, 4]);
  assert.equal(all.width, 3);
  assert.deepEqual(all.bytes, [0, 1, 2, 3, 4, 5, 6]);
});

test('large tensors come whole', { skip }, async () => {
  const wrong = await page.evaluate(async () => {
    const n = 12 << 20, x = hg.arange(n, { dtype: 'i32' });
    const data = await x.data();
    x.dispose();
    hg.trim();
    return data.length === n ? data.findIndex((v, i) => v !== i) : 'length';
  });
  assert.equal(wrong, -1);
});

test('what needs values while it is put together waits, or says so', { skip }, async () => {
  assert.deepEqual(await page.evaluate(async () =>
    (await (await hg.evaluate('nonzero(x)', { x: [0, 3, 0, 4, 5] })).array()).flat().map(Number)), [1, 3, 4]);
  const error = await failure(() => hg.eval('nonzero(x)', { x: [0, 3] }));
  assert.equal(error.kind, 'UnsupportedOperation');
  assert.match(error.remedy, /hg\.evaluate/);
});

test('what such a call is given stays until it is done', { skip }, async () => {
  for (let i = 0; i < 20; i++) {
    await page.evaluate(() => { globalThis.found = hg.evaluate('nonzero(x + y)', { x: [0, 3, 0, 4, 5], y: hg.tensor([0, 0, 0, 0, 1]) }); });
    await page.send('HeapProfiler.collectGarbage');
    assert.deepEqual(await page.evaluate(async () =>
      (await (await globalThis.found).array()).flat().map(Number)), [1, 3, 4]);
  }
});

test('errors of the work come with what is read next', { skip }, async () => {
  const error = await failure(() => hg.eval('take(x, i)', { x: [1, 2, 3], i: hg.tensor([7n]) }).data());
  assert.match(error.message, /take/);
  assert.deepEqual(await page.evaluate(async () => hg.tensor([1, 2]).add(1).array()), [2, 3]);
  const loop = await failure(async () => {
    const one = await Hologram.create({ backend: 'webgpu' });
    try {
      await one.run('program forever(inout x: i32[n]) lanes(1) {\n  while x[0] == 0 { x[1] = x[1] + 1 }\n}', { x: new Int32Array(2) }, { rounds: 10_000 });
    } finally {
      one.dispose();
    }
  });
  assert.equal(loop?.kind, 'Timeout');
});

test('runtimes come and go', { skip }, async () => {
  const heap = async () => {
    await page.send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = await page.send('Runtime.getHeapUsage');
    return usedSize + backingStorageSize;
  };
  const round = (times) => page.evaluate(async (n) => {
    globalThis.wasm ??= await WebAssembly.compileStreaming(fetch('/hologram/hologram.wasm'));
    for (let i = 0; i < n; i++) {
      const one = await Hologram.create({ backend: 'webgpu', wasm });
      if (await one.tensor([i, 1]).sum().item() !== i + 1) throw new Error(`${i} is wrong`);
      one.dispose();
      if (one.gpuDevice !== null) throw new Error('the device is still there');
    }
  }, times);
  await round(5);
  const before = await heap();
  for (let i = 0; i < 10; i++) await round(10);
  const grown = await heap() - before;
  assert.ok(grown < 4 << 20, `${grown} bytes more after 100 runtimes`);
});

test('what is dropped is freed', { skip }, async () => {
  const live = () => page.evaluate(() => [hg.memory.live, hg.gpuCounts]);
  const [before] = await live();
  for (let i = 0; i < 20; i++) {
    await page.evaluate(async () => { for (let k = 0; k < 10; k++) await hg.ones([1 << 18]).add(k).sum().item(); });
    await page.send('HeapProfiler.collectGarbage');
  }
  await page.until((most) => hg.memory.live <= most, { args: [before + (4 << 20)] });
  const [, counts] = await live();
  assert.ok(counts.bytes < 64 << 20, JSON.stringify(counts));
  assert.equal(counts.coming, 0);
});

test('a device that is lost says so, and another can be had', { skip }, async () => {
  const all = await page.evaluate(async () => {
    const heard = [];
    const one = await Hologram.create({ backend: 'webgpu', onLost: (e) => heard.push(e.kind) });
    const x = one.tensor([1, 2, 3]);
    await x.add(1).data();
    const late = x.mul(2).data().then(() => 'came', (e) => e.kind);  // on its way
    one.gpuDevice.destroy();
    const lost = await one.lost;
    const error = await x.mul(3).data().then(() => null, (e) => ({ kind: e.kind, message: e.message, remedy: e.remedy }));
    const all = { heard, lost: lost.kind, error, late: await late };
    one.dispose();
    const other = await Hologram.create({ backend: 'webgpu' });
    all.other = await other.tensor([1, 2, 3]).add(1).array();
    other.dispose();
    return all;
  });
  assert.deepEqual(all.heard, ['DeviceLost']);
  assert.equal(all.lost, 'DeviceLost');
  assert.equal(all.error.kind, 'DeviceLost');
  assert.match(all.error.message, /lost/);
  assert.ok(['came', 'DeviceLost'].includes(all.late), all.late);
  assert.deepEqual(all.other, [2, 3, 4]);
});

test('what is not there is said, with what to do', { skip }, async () => {
  const none = await failure(async () => {
    Object.defineProperty(navigator, 'gpu', { value: undefined, configurable: true });
    try { await Hologram.create({ backend: 'webgpu' }); } finally { delete navigator.gpu; }
  });
  assert.equal(none.kind, 'BackendUnavailable');
  assert.match(none.message, /navigator\.gpu/);
  assert.match(none.remedy, /cpu/);
  const feature = await failure(() => Hologram.create({ backend: 'webgpu', features: ['no-such-feature'] }));
  assert.equal(feature.kind, 'BackendUnavailable');
  assert.match(feature.message, /no-such-feature/);
  const f64 = await failure(() => hg.tensor(new Float64Array([1, 2])).add(1).data());
  assert.equal(f64.kind, 'UnsupportedOperation');
  assert.match(f64.message, /f64/);
  const program = await failure(() => hg.program('program p(in x: f32[n]) {\n  y = x[i]\n}'));
  assert.equal(program.kind, 'InvalidProgram');
  assert.match(program.message, /\^/);
});

test('without an adapter there is the CPU', { skip }, async () => {
  const other = await Chromium.launch({ webgpu: false, flags: ['--disable-gpu', '--disable-software-rasterizer'] });
  try {
    const bare = await open(other);
    const { error, backend, why } = await bare.evaluate(async () => {
      const error = await Hologram.create({ backend: 'webgpu' }).then(() => null, (e) => ({ kind: e.kind, message: e.message }));
      const one = await Hologram.create();
      return { error, backend: one.backend, why: one.why, sum: await one.tensor([1, 2]).sum().item() };
    });
    assert.equal(error.kind, 'BackendUnavailable');
    assert.match(error.message, /adapter|navigator\.gpu/);
    assert.equal(backend, 'cpu');
    assert.match(why, /WebGPU backend not available/);
  } finally {
    await other.close();
  }
});

for (const [backend, part, pattern, each] of [
  ['cpu', 'all', filter, every.cpu],
  ['webgpu', 'what compiles soon', filter === '' || filter === '.' ? soon : filter, Math.ceil(every.webgpu / 20)],
  ['webgpu', 'all', filter, every.webgpu],
])
  test(`conformance, ${backend}, ${part}`, { skip }, async () => {
    await page.evaluate((name, pattern, n, most) => {
      globalThis.report = null;
      (async () => {
        const one = await Hologram.create({ backend: name });
        globalThis.report = await one.selfTest(pattern, { every: n, signal: AbortSignal.timeout(1000 * most) });
        one.dispose();
      })().catch((e) => { globalThis.report = { failures: [{ name: 'all', reason: e.message }] }; });
    }, backend, pattern, each, seconds);
    const report = await page.until(() => globalThis.report, { patience: 3_600_000 });
    assert.deepEqual(report.failures, []);
    assert.ok(report.passed > 10, JSON.stringify(report));
    console.log(backend, report);
  });
