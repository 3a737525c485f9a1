// node --test web/test/package.test.mjs: the package of build-web/package as npm packs it, in projects
// of its users: plain Node, TypeScript, Vite. What needs npm's registry is skipped where that is out of
// reach.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Chromium, findChromium, serve } from './chromium.mjs';
import { randomModel } from './models.mjs';

const built = fileURLToPath(new URL('../../build-web/package', import.meta.url));
const repository = fileURLToPath(new URL('../../', import.meta.url));

// A program's output; fails with that if it fails.
const call = (folder, program, ...args) =>
  new Promise((done, fail) => {
    execFile(program, args, { cwd: folder, timeout: 240_000, maxBuffer: 1 << 26 }, (error, out, err) => {
      if (error) fail(new Error(`${program} ${args.join(' ')}: ${error.message}\n${out}${err}`));
      else done(out);
    });
  });
const npm = (folder, ...args) =>
  call(folder, 'npm', '--no-audit', '--no-fund', '--no-update-notifier', ...args);

const noNpm = await npm(repository, '--version').then(
  () => false,
  () => 'npm is not installed',
);
const noRegistry =
  noNpm ||
  (await npm(repository, 'view', 'vite@6', 'version', '--fetch-retries=0', '--fetch-timeout=20000').then(
    () => false,
    () => "npm's registry is out of reach",
  ));

let scratch, tarball;
before(async () => {
  if (noNpm) return;
  scratch = await mkdtemp(join(tmpdir(), 'hologram-package-'));
  await npm(built, 'pack', '--pack-destination', scratch);
  tarball = join(
    scratch,
    (await readdir(scratch)).find((name) => name.endsWith('.tgz')),
  );
});
after(async () => {
  if (scratch) await rm(scratch, { recursive: true, force: true });
});

// A project with these files that has hologram, and these packages of the registry, installed.
async function project(name, files, ...packages) {
  const folder = join(scratch, name);
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name, private: true, type: 'module' }));
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
  await npm(folder, 'install', ...(packages.length === 0 ? ['--offline'] : []), tarball, ...packages);
  return folder;
}
const examplesIn = async (file) =>
  [...(await readFile(file, 'utf8')).matchAll(/```js\n([^]*?)```/g)].map((m) => m[1]);

test('the tarball holds what users need and nothing else', { skip: noNpm }, async () => {
  const names = (await call(scratch, 'tar', '-tzf', tarball))
    .trim()
    .split('\n')
    .map((n) => n.replace('package/', ''));
  for (const name of [
    'hologram.js',
    'hologram.wasm',
    'threads.js',
    'hologram-threads.wasm',
    'hologram.d.ts',
    'package.json',
    'README.md',
    'LICENSE',
  ])
    assert.ok(names.includes(name), name);
  assert.deepEqual(
    names.filter((n) => !/^([\w-]+\.(js|d\.ts|wasm)|package\.json|README\.md|LICENSE)$/.test(n)),
    [],
  );
});

test('plain Node runs the examples of its README and of the guide', { skip: noNpm }, async () => {
  const readme = (await examplesIn(join(built, 'README.md'))).filter((text) =>
    text.includes('Hologram.create'),
  );
  const guide = (await examplesIn(join(repository, 'docs/web.md'))).filter((text) =>
    text.includes('Hologram.create'),
  );
  assert.ok(readme.length >= 1 && guide.length >= 3);
  const files = Object.fromEntries([...readme, ...guide].map((text, i) => [`example${i}.js`, text]));
  const folder = await project('plain', { ...files, 'model.gguf': randomModel() });
  const out = await call(folder, process.execPath, 'example0.js');
  assert.match(out, /\[ 2, 2 \] Float32Array/);
  assert.match(out, /\[ 10, 20, 30 \]/);
  for (const name of Object.keys(files)) await call(folder, process.execPath, name);
});

test('runtimes that come and go leave nothing', { skip: noNpm }, async () => {
  const folder = await project('often', {
    'often.js': `
import { readFile } from 'node:fs/promises';
import { Hologram } from 'hologram';
const bytes = await readFile(new URL('node_modules/hologram/hologram.wasm', import.meta.url));
const wasm = await WebAssembly.compile(bytes);
const once = async (i) => {
  const hg = await Hologram.create({ wasm });
  const y = hg.eval('sum(x * 2)', { x: hg.ones([1000, 100]).add(i) });
  if (await y.item() !== 200000 * (i + 1)) throw new Error('wrong');
  hg.dispose();
};
const settled = async () => {
  for (let i = 0; i < 5; i++) { global.gc(); await new Promise((done) => setTimeout(done, 20)); }
  return process.memoryUsage().rss / 2 ** 20;
};
for (let i = 0; i < 10; i++) await once(i);
const before = await settled();
for (let i = 0; i < 100; i++) { await once(i); if (i % 10 === 0) await settled(); }
console.log(JSON.stringify({ before, after: await settled() }));
`,
  });
  const { before: start, after: end } = JSON.parse(
    await call(folder, process.execPath, '--expose-gc', 'often.js'),
  );
  // A runtime takes some megabytes: a hundred that stayed would be seen.
  assert.ok(end - start < 64, `from ${start} to ${end} MiB`);
});

const TYPED = `
import { Hologram, HologramError, Tensor, type DType, type TypedArray } from 'hologram';
const hg: Hologram = await Hologram.create({ backend: 'cpu', threads: 2 });
const threads: number = hg.threads;
const t: Tensor = hg.tensor([[1, 2], [3, 4]], { dtype: 'f32' });
const s: Tensor = t.matmul(t).softmax({ axis: 1 }).sum(0).add(1);
const data: TypedArray = await s.data();
const dtype: DType = s.dtype;
const { y } = hg.program('program p() {}').run({ x: [1, 2], a: 2 }, { shapes: { y: [2] } });
const report = await hg.selfTest();
const failures: string[] = report.failures.map((f) => f.name);
const shape: readonly number[] = y.shape;
const fields = hg.program('program p() {}').parameters.scalars.map((p) => p.name.length + shape.length);
try { hg.eval('a +', { a: t }); } catch (e) { if (e instanceof HologramError) console.log(e.kind, e.remedy, e.message); }
const model = await hg.loadModel(new Uint8Array(8), { context: 512 });
const said: string[] = [];
const { tokens } = await model.generate([{ role: 'user', content: 'Hi' }], { topK: 3 }, (step) => { said.push(step.text); });
const first: number | undefined = tokens[0];
export { data, dtype, failures, fields, first, threads };
`;

test('its types check, and find mistakes', { skip: noRegistry }, async () => {
  const options = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    lib: ['es2022', 'dom', 'dom.iterable'],
    types: [],
  };
  const configuration = (module, moduleResolution, file) =>
    JSON.stringify({ compilerOptions: { ...options, module, moduleResolution }, files: [file] });
  const folder = await project(
    'typed',
    {
      'right.ts': TYPED,
      'wrong.ts':
        "import { Hologram } from 'hologram';\nconst hg = await Hologram.create({ backend: 3 });\nhg.tensor([1]).softmaks();\n",
      'bundler.json': configuration('es2022', 'bundler', 'right.ts'),
      'node.json': configuration('node16', 'node16', 'right.ts'),
      'wrong.json': configuration('es2022', 'bundler', 'wrong.ts'),
    },
    'typescript@5',
  );
  const check = (file) => call(folder, process.execPath, 'node_modules/typescript/bin/tsc', '-p', file);
  await check('bundler.json');
  await check('node.json');
  await assert.rejects(check('wrong.json'), /wrong\.ts\(2,[^]*wrong\.ts\(3,[^]*softmaks/);
});

const PAGE =
  '<!doctype html><title>waiting</title><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>';
const MAIN = `import { Hologram } from 'hologram';
const hg = await Hologram.create({ backend: 'cpu' });
const x = hg.ones([300, 300]);
document.documentElement.dataset.threads = hg.threads;
document.documentElement.dataset.sum = await hg.eval('sum(x @ x)', { x }).item();
document.title = [...await hg.eval('x @ x', { x: [[1, 2], [3, 4]] }).data()].join(' ');
`;

test('Vite builds and serves a page that computes', { skip: noRegistry }, async (context) => {
  const [configuration] = (await examplesIn(join(built, 'README.md'))).filter((text) =>
    text.includes('vite.config.js'),
  );
  const folder = await project(
    'bundled',
    { 'index.html': PAGE, 'main.js': MAIN, 'vite.config.js': configuration },
    'vite@6',
  );
  await call(folder, process.execPath, 'node_modules/vite/bin/vite.js', 'build');
  const assets = await readdir(join(folder, 'dist/assets'));
  assert.equal(assets.filter((name) => /^hologram.*\.wasm$/.test(name)).length, 2, assets.join(', '));
  if (!findChromium())
    return context.skip('the page was built, but there is no Chromium to open it: install chromium');

  await copyFile(join(folder, 'index.html'), join(folder, 'dev.html'));
  await writeFile(
    join(folder, 'serve.js'),
    `import { createServer } from 'vite';
const headers = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
const server = await createServer({ server: { port: 0, host: '127.0.0.1', headers } });
await server.listen();
console.log(server.resolvedUrls.local[0]);
process.stdin.on('end', () => server.close().then(() => process.exit()));
process.stdin.resume();
`,
  );
  const browser = await Chromium.launch();
  const site = await serve({ '/': join(folder, 'dist') });
  const isolated = await serve({ '/': join(folder, 'dist') }, { isolated: true });
  const server = execFile(process.execPath, ['serve.js'], { cwd: folder });
  try {
    const url = await new Promise((done, fail) => {
      server.stdout.on('data', (line) => done(line.trim()));
      server.on('exit', () => fail(new Error('The development server ended.')));
    });
    for (const address of [site.url, isolated.url, url]) {
      const page = await browser.open(address);
      await page.until(() => document.title !== 'waiting');
      const { sum, threads } = await page.evaluate(() => ({ ...document.documentElement.dataset }));
      assert.equal(Number(sum), 300 ** 3);
      assert.equal(Number(threads), address === site.url ? 1 : Math.min(availableParallelism(), 16), address);
      assert.equal(await page.evaluate(() => document.title), '7 10 15 22');
      assert.deepEqual(page.complaints, []);
      await page.close();
    }
  } finally {
    server.stdin.end();
    await browser.close();
    await site.close();
    await isolated.close();
  }
});
