// node --test web/test/isolated.test.mjs: the package and the page of build-web in Chromium, served so that
// pages may share memory with their workers: with threads. Of the conformance suite each
// HOLOGRAM_THREADS_EVERYth case is tried.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Chromium, findChromium, serve } from './chromium.mjs';

const built = fileURLToPath(new URL('../../build-web/', import.meta.url));
const skip = findChromium() ? false : 'there is no Chromium: install the package chromium';
const every = Number(process.env.HOLOGRAM_THREADS_EVERY ?? 20);

// A module worker of the test's own, which has the library too: asked by the text of a function.
const WORKER = `import { Hologram } from '/hologram/hologram.js';
globalThis.Hologram = Hologram;
addEventListener('message', async ({ data }) => {
  try { postMessage({ value: await eval(data)() }); } catch (e) { postMessage({ error: e.message }); }
});
postMessage({ value: 'ready' });`;

let folder, site, open, browser, page;
before(async () => {
  if (skip) return;
  folder = await mkdtemp(join(tmpdir(), 'hologram-isolated-'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>hologram</title><link rel="icon" href="data:,">');
  await writeFile(join(folder, 'strict.html'), '<!doctype html><title>hologram</title>' +
    '<meta http-equiv="Content-Security-Policy" content="worker-src \'none\'"><link rel="icon" href="data:,">');
  await writeFile(join(folder, 'worker.js'), WORKER);
  const folders = { '/': folder, '/hologram/': `${built}package`, '/page/': `${built}page` };
  site = await serve(folders, { isolated: true });
  open = await serve(folders);
  browser = await Chromium.launch();
  page = await browser.open(site.url);
  await page.evaluate(async () => {
    Object.assign(globalThis, await import('/hologram/hologram.js'));
    globalThis.having = async (options, body) => {
      const hg = await Hologram.create({ backend: 'cpu', ...options });
      try { return await body(hg); } finally { hg.dispose(); }
    };
  });
});
after(async () => {
  await browser?.close();
  await site?.close();
  await open?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

// What the works give on so many threads.
const values = (threads) => page.evaluate((n) => having({ threads: n }, async (hg) => {
  const x = hg.tensor(Float32Array.from({ length: 500_000 }, (_, i) => Math.sin(i * i))), m = x.reshape([500, 1000]);
  const all = {};
  for (const text of ['sigmoid(x) * x', 'sum(x)', 'softmax(m, axis=1)', 'm[:, :500] @ m', 'mean(m, axis=0)', 'sort(x)']) {
    const bits = new Uint32Array((await hg.eval(text, text.includes('m[') || text.includes('(m') ? { m } : { x }).data()).buffer);
    all[text] = bits.reduce((h, v) => Math.imul(h ^ v, 16777619) >>> 0, 2166136261);
  }
  return all;
}), threads);

test('the page may have threads, and has as many as it asks for', { skip }, async () => {
  const [isolated, auto, asked] = await page.evaluate(async () => [crossOriginIsolated,
    await having({}, async (hg) => hg.threads === Math.min(navigator.hardwareConcurrency, 16)),
    await having({ threads: 5 }, async (hg) => hg.threads)]);
  assert.deepEqual([isolated, auto, asked], [true, true, 5]);
});

test('where the server does not isolate the page there is one thread, or a reason', { skip }, async () => {
  const bare = await browser.open(open.url);
  const { auto, error } = await bare.evaluate(async () => {
    const { Hologram } = await import('/hologram/hologram.js');
    const hg = await Hologram.create({ backend: 'cpu' });
    const auto = [hg.threads, await hg.ones([100_000]).sum().item()];
    hg.dispose();
    return { auto, error: await Hologram.create({ threads: 4 }).then(() => null, ({ kind, message, remedy }) => ({ kind, message, remedy })) };
  });
  await bare.close();
  assert.deepEqual(auto, [1, 100_000]);
  assert.ok(!open.requests.includes('/hologram/hologram-threads.wasm'), 'the other module is not loaded');
  assert.equal(error.kind, 'UnsupportedOperation');
  assert.match(error.message, /4 threads.*not isolated/);
  assert.match(error.remedy, /Cross-Origin-Opener-Policy: same-origin.*Cross-Origin-Embedder-Policy: require-corp/);
});

test('where a policy keeps workers from beginning there is one thread, or a reason', { skip }, async () => {
  const strict = await browser.open(`${site.url}strict.html`);
  const [auto, sum, error] = await strict.evaluate(async () => {
    const { Hologram } = await import('/hologram/hologram.js');
    const hg = await Hologram.create({ backend: 'cpu' });
    const all = [hg.threads, await hg.ones([100_000]).sum().item()];
    hg.dispose();
    return [...all, await Hologram.create({ threads: 3 }).then(() => null, ({ kind, message, remedy }) => ({ kind, message, remedy }))];
  });
  await strict.close();
  assert.deepEqual([auto, sum], [1, 100_000]);
  assert.equal(error.kind, 'BackendUnavailable');
  assert.match(error.message, /3 threads could not be begun/);
  assert.match(error.remedy, /policy/);
});

test('any number of threads gives the same bits', { skip }, async () => {
  const one = await values(1);
  for (const n of [2, 6]) assert.deepEqual(await values(n), one);
});

test('a worker that computes has threads of its own', { skip }, async () => {
  const [ready, done] = await page.evaluate(async () => {
    const worker = new Worker('/worker.js', { type: 'module' });
    const answer = () => new Promise((heard) => worker.addEventListener('message', ({ data }) => heard(data), { once: true }));
    const all = [await answer()];
    worker.postMessage(`async () => {
      const hg = await Hologram.create({ backend: 'cpu', threads: 3 });
      const sums = [], { threads } = hg;
      for (let i = 0; i < 50; i++) sums.push(await hg.full([200_000], i).sum().item());
      hg.dispose();
      return [threads, sums.every((s, i) => Number(s) === 200_000 * i)];
    }`);
    all.push(await answer());
    worker.terminate();
    return all;
  });
  assert.equal(ready.value, 'ready');
  assert.deepEqual(done, { value: [3, true] });
});

test('what goes wrong, and what has no end, comes back', { skip }, async () => {
  const [wrong, endless, sum] = await page.evaluate(() => having({ threads: 4 }, async (hg) => {
    const places = new Int32Array(200_000), x = hg.tensor([1, 2, 3]);
    places[170_000] = 7;
    const said = (promise) => promise.then(() => null, (e) => `${e.kind}: ${e.message}`);
    const wrong = await said(hg.eval('take(x, i)', { x, i: hg.tensor(places) }).data());
    const endless = await said(hg.run('program forever(inout x: i32[n]) lanes(n) {\n  i = global_id.x\n' +
      '  while x[i] == 0 { x[i] = x[i] * 2 }\n}', { x: new Int32Array(100_000) }, { rounds: 10_000 }));
    return [wrong, endless, await hg.ones([200_000]).sum().item()];
  }));
  assert.match(wrong, /take/);
  assert.match(endless, /^Timeout/);
  assert.equal(sum, 200_000);
});

test('WebGPU reads the memory that is shared', { skip }, async () => {
  const all = await page.evaluate(() => having({ backend: 'webgpu', threads: 2 }, async (hg) => {
    const a = hg.tensor([[1, 2], [3, 4]]), large = hg.tensor(Float32Array.from({ length: 1 << 18 }, (_, i) => i % 100));
    const canvas = await hg.linspace(0, 1, 6).reshape([2, 3]).toCanvas(new OffscreenCanvas(1, 1));
    return [hg.backend, await a.matmul(a).array(), (await large.add(1).data())[12_345], canvas.width,
      await hg.image(canvas).array().then((p) => p.length)];
  }));
  assert.deepEqual(all, ['webgpu', [[7, 10], [15, 22]], 46, 3, 2]);
});

test('runtimes with threads come and go', { skip }, async () => {
  const heap = async () => {
    await page.send('HeapProfiler.collectGarbage');
    const { usedSize, backingStorageSize = 0 } = await page.send('Runtime.getHeapUsage');
    return usedSize + backingStorageSize;
  };
  const round = (times) => page.evaluate(async (n) => {
    globalThis.wasm ??= await WebAssembly.compileStreaming(fetch('/hologram/hologram-threads.wasm'));
    for (let i = 0; i < n; i++)
      await having({ threads: 3, wasm }, async (hg) => {
        if (await hg.ones([100_000]).add(i).sum().item() !== 100_000 * (i + 1)) throw new Error(`${i} is wrong`);
      });
  }, times);
  await round(5);
  const before = await heap();
  for (let i = 0; i < 10; i++) await round(10);
  const grown = await heap() - before;
  assert.ok(grown < 4 << 20, `${grown} bytes more after 100 runtimes`);
});

test('conformance with threads', { skip }, async () => {
  await page.evaluate((n) => {
    globalThis.report = null;
    having({ threads: 4 }, (hg) => hg.selfTest('', { every: n })).then((r) => { globalThis.report = r; },
      (e) => { globalThis.report = { failures: [{ name: 'all', reason: e.message }] }; });
  }, every);
  const report = await page.until(() => globalThis.report, { patience: 600_000 });
  assert.deepEqual(report.failures, []);
  assert.ok(report.passed > 100, JSON.stringify(report));
  console.log(report);
});

test('the page uses them', { skip }, async () => {
  const shown = await browser.open(`${site.url}page/`);
  await shown.until(() => document.documentElement.dataset.ready === 'yes');
  const threads = await shown.evaluate(() => Math.min(navigator.hardwareConcurrency, 16));
  const cpu = await shown.evaluate(() => document.querySelector('.choice input[value=cpu]').closest('label').innerText);
  assert.match(cpu, threads > 1 ? new RegExp(`WebAssembly, ${threads} threads;`) : /one thread;/);
  await shown.evaluate(() => document.querySelector('.choice input[value=cpu]').click());
  const said = await shown.until(() => /passed|could not/.exec(document.querySelector('#checked').innerText)?.input);
  const [, passed, tried] = /(\d+) of (\d+) arithmetic checks/.exec(said) ?? [said];
  assert.equal(passed, tried);
  await shown.until(() => document.querySelector('#result canvas') &&
    /paths a pixel in/.test(document.querySelector('#tracer-note').innerText));
  assert.deepEqual(shown.complaints, []);
  await shown.close();
});

test('it complained of nothing in all that', { skip }, () => assert.deepEqual(page.complaints, []));
