// node --test web/test/page.test.mjs: the page of build-web/page as a visitor meets it, in Chromium
// without a window. Pictures of it are left in build-web/screenshots.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Chromium, findChromium, serve } from './chromium.mjs';
import { randomModel } from './models.mjs';

const built = fileURLToPath(new URL('../../build-web/', import.meta.url));
const skip = findChromium() ? false : 'there is no Chromium: install the package chromium';

let site, browser, page;
before(async () => {
  if (skip) return;
  site = await serve({ '/': `${built}page` });
  browser = await Chromium.launch();
  page = await browser.open(site.url);
  await page.until(() => document.documentElement.dataset.ready === 'yes');
});
after(async () => {
  await browser?.close();
  await site?.close();
});

const text = (selector) => page.evaluate((s) => document.querySelector(s).innerText, selector);
const shot = (name, options) => page.screenshot(`${built}screenshots/${name}.png`, options);
const idle = () =>
  page.until(
    () =>
      !document.querySelector('#run').disabled &&
      document.querySelector('#result').getAttribute('aria-busy') === 'false',
  );
// Types a text into the editor, values into its fields, and runs it.
async function run(source, values = {}) {
  await idle();
  await page.type('#source', source);
  await page.until((names) => names.every((n) => document.querySelector(`#inputs [name="${n}"]`)), {
    args: [Object.keys(values)],
  });
  for (const [name, value] of Object.entries(values)) await page.type(`#inputs [name="${name}"]`, value);
  // Errors that go away move the button.
  await page.until(() => document.querySelector('#printed').getAttribute('aria-busy') === 'false');
  await page.click('#run');
  await idle();
}
// What the self-test says: ["278 of 278 …", "278", "278"].
async function selfChecked() {
  const said = await page.until(
    () => /passed|could not/.exec(document.querySelector('#checked').innerText)?.input,
  );
  assert.match(said, /(\d+) of (\d+) arithmetic checks/);
  return /(\d+) of (\d+)/.exec(said);
}
const numbers = async () =>
  (
    await page.evaluate(() => [...document.querySelectorAll('.values td, .big')].map((e) => e.innerText))
  ).map(Number);

// A picture of one colour with another in its right half, as a BMP.
function pictureFile(width, height, left, right) {
  const stride = (width * 3 + 3) & ~3,
    file = Buffer.alloc(54 + stride * height);
  file.write('BM');
  file.writeUInt32LE(file.length, 2);
  file.writeUInt32LE(54, 10);
  file.writeUInt32LE(40, 14);
  file.writeInt32LE(width, 18);
  file.writeInt32LE(height, 22);
  file.writeUInt16LE(1, 26);
  file.writeUInt16LE(24, 28);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let c = 0; c < 3; c++) file[54 + y * stride + x * 3 + c] = (x < width / 2 ? left : right)[2 - c];
  return file;
}
const pixel = (id, x, y) =>
  page.evaluate(
    (i, across, down) => [
      ...document.getElementById(i).getContext('2d').getImageData(across, down, 1, 1).data.slice(0, 3),
    ],
    id,
    x,
    y,
  );

test('it opens by itself, with a result and pictures, and asks nobody else', { skip }, async () => {
  await idle();
  await page.until(() => document.querySelector('#result canvas'));
  await page.until(() => /paths a pixel in/.test(document.querySelector('#tracer-note').innerText));
  await shot('top');
  const asked = await page.evaluate(() => performance.getEntriesByType('resource').map((e) => e.name));
  assert.ok(asked.length > 5);
  for (const url of asked) assert.ok(url.startsWith(site.url), url);
  assert.match(await text('#printed'), /@compute/);
  assert.deepEqual(page.complaints, []);
});

test('it says what there is to compute with, and checks it', { skip }, async () => {
  const cards = await page.evaluate(() =>
    [...document.querySelectorAll('.choice')].map((c) => ({
      value: c.querySelector('input').value,
      there: !c.querySelector('input').disabled,
      text: c.innerText,
    })),
  );
  assert.deepEqual(
    cards.map((c) => c.value),
    ['auto', 'cpu', 'webgpu'],
  );
  assert.match(cards[0].text, /Takes (CPU|WebGPU), as ./);
  assert.ok(cards[2].there || cards[2].text.length > 20, 'a reason');
  const checked = await selfChecked();
  assert.equal(checked[1], checked[2]);
  await page.click('#limits summary');
  assert.match(await text('#limits-table'), /Memory of the module/);
});

test('an expression is typed, given values, and computed', { skip }, async () => {
  await run('a * b + 1', { a: '[1, 2.5, -3]', b: '2' });
  assert.deepEqual(await numbers(), [3, 6, -5]);
  assert.match(await text('.timing'), /\d (ms|s) on (CPU|WebGPU)/);
  assert.match(await text('#result'), /f32\[3\]/);
  assert.match(await text('#printed-note'), /^one kernel, \d+ lines/);
  await shot('expression');
  await run('m = mean(x, axis=0); s = sum(x)', { x: '[[1, 2], [3, 4]]' });
  assert.deepEqual(await numbers(), [2, 3, 10]);
  await run('x @ x', { x: '[[1, 2], [3, 4]]' });
  assert.deepEqual(await numbers(), [7, 10, 15, 22]);
});

test('a program brings a field for each parameter', { skip }, async () => {
  await run(
    'program scale(in x: f32[n], out y: f32[n], factor: f32 = 0.1) lanes(n) {\n' +
      '  i = global_id.x\n  if i < n { y[i] = x[i] * factor }\n}',
    { x: '[1, 2, 3]', factor: '-2' },
  );
  assert.deepEqual(await numbers(), [-2, -4, -6]);
  assert.match(await text('#inputs'), /x f32\[n\]\s*factor f32/);
  await page.evaluate(() => {
    const d = document.querySelector('#dialect');
    d.value = 'opencl';
    d.dispatchEvent(new Event('change'));
  });
  await page.until(() => document.querySelector('#printed').innerText.includes('__kernel'));
  await page.evaluate(() => {
    const d = document.querySelector('#dialect');
    d.value = 'wgsl';
    d.dispatchEvent(new Event('change'));
  });
});

test('a mistake is shown in its place, with a remedy', { skip }, async () => {
  await run('y = 2 * x\nsum(y, axs=0)', { x: '1' });
  const error = await text('#source-error');
  assert.match(error, /Line 2, column 1: sum has no parameter 'axs'/);
  assert.match(error, /\^~~/);
  assert.equal((await text('.lines .wrong')).trim(), '2');
  assert.ok((await text('#source-error p')).length > 10, 'the remedy');
  assert.equal(
    await page.evaluate(() => document.querySelector('#source').getAttribute('aria-invalid')),
    'true',
  );
  assert.match(await text('#result'), /No result/);
  await page.evaluate(() =>
    document.querySelector('#editor').scrollIntoView({ block: 'start', behavior: 'instant' }),
  );
  await shot('error');
  await run('x + 1', { x: '[1, 2' });
  assert.match(await text('#source-error'), /^The value of x: /);
  assert.equal(
    await page.evaluate(() => document.querySelector('#inputs [name=x]').getAttribute('aria-invalid')),
    'true',
  );
  await run('x + 1', { x: '[1, 2]' });
  assert.deepEqual(await numbers(), [2, 3]);
  assert.equal(await page.evaluate(() => document.querySelector('#source-error').hidden), true);
});

test('every choice of a backend computes, and checks itself', { skip }, async () => {
  const there = await page.evaluate(() =>
    [...document.querySelectorAll('.choice input:enabled')].map((i) => i.value),
  );
  for (const backend of [...there, 'cpu']) {
    await idle();
    await page.evaluate((b) => document.querySelector(`.choice input[value=${b}]`).click(), backend);
    await idle();
    await run('sqrt(x * 4)', { x: '[1, 4, 9]' });
    assert.deepEqual(await numbers(), [2, 4, 6], backend);
    if (backend !== 'auto') assert.match(await text('.timing'), backend === 'cpu' ? /CPU/ : /WebGPU/);
    await run(
      'program twice(in x: f32[n], out y: f32[n]) lanes(n) {\n' +
        '  i = global_id.x\n  if i < n { y[i] = 2.0 * x[n - 1 - i] }\n}',
      { x: '[1, 2.5, -3]' },
    );
    assert.deepEqual(await numbers(), [-6, 5, 2], backend);
    const checked = await selfChecked();
    assert.equal(checked[1], checked[2], backend);
    await shot(`on-${backend}`);
  }
});

test('what takes too long can be stopped', { skip }, async () => {
  await run('1 + 1');
  await page.type(
    '#source',
    'program slow(out y: f32[n], rounds: i32 = 2000000000) lanes(n) {\n  i = global_id.x\n' +
      '  var s = 0.0\n  for k in 0..rounds { s = sin(s + f32(k)) }\n  y[i] = s\n}',
  );
  await page.until(() => document.querySelector('#inputs [name=rounds]'));
  await page.click('#run');
  await page.until(() => !document.querySelector('#stop').hidden);
  await page.click('#stop');
  await idle();
  assert.match(await text('#result'), /Stopped/);
  await run('x + 1', { x: '41' });
  assert.deepEqual(await numbers(), [42]);
});

test('a picture is dropped and filtered', { skip }, async () => {
  await page.evaluate(() =>
    document.querySelector('#drop').scrollIntoView({ block: 'center', behavior: 'instant' }),
  );
  await page.until(() => /pixels in/.test(document.querySelector('#filter-note').innerText));
  await page.drop('#drop', 'two.bmp', 'image/bmp', pictureFile(40, 30, [200, 40, 40], [30, 60, 220]));
  await page.until(() => document.querySelector('#filter-note').innerText.startsWith('40 × 30'));
  assert.deepEqual(await pixel('before', 3, 20), [200, 40, 40]);
  assert.deepEqual(await pixel('after', 36, 20), [30, 60, 220]);
  // The edge is kept by the bilateral filter, and blurred by the other.
  assert.deepEqual(await pixel('after', 19, 15), [200, 40, 40]);
  await page.evaluate(() => {
    const f = document.querySelector('#filter');
    f.value = 'gaussian_blur';
    f.dispatchEvent(new Event('change'));
  });
  await page.until(
    () => document.querySelector('#after').getContext('2d').getImageData(19, 15, 1, 1).data[0] < 150,
  );
  await page.drop('#drop', 'notes.txt', 'text/plain', Buffer.from('no picture'));
  await page.until(() => !document.querySelector('#filter-error').hidden);
  assert.match(await text('#filter-error'), /“notes\.txt” is no picture[^]*Choose a PNG/);
  await shot('dropped');
  // It is the picture of the editor, too.
  await run('mean(p, axis=[0, 1])', { p: 'picture' });
  (await numbers()).forEach((v, i) => assert.ok(Math.abs(v - [115, 50, 130][i] / 255) < 1e-4));
});

test('a language model is dropped, and writes what it writes in Node', { skip }, async () => {
  const bytes = randomModel();
  await page.drop('#model-drop', 'random.gguf', 'application/octet-stream', bytes);
  await page.until(() => /^random\.gguf: llama, 256 tokens/.test(document.querySelector('#model-note').innerText));
  const { Hologram } = await import(new URL('../../build-web/package/hologram.js', import.meta.url));
  const hg = await Hologram.create({ backend: 'cpu', threads: 1 });
  const model = await hg.loadModel(bytes);
  const answer = () => page.until(() => document.querySelector('#model-said p.assistant[data-tokens]')?.dataset.tokens);
  await page.click('#model-greedy');

  // It has a template, and so it chats.
  await page.type('#model-prompt', 'Hello there');
  await page.click('#model-write');
  const chatted = await model.generate([{ role: 'user', content: 'Hello there' }], { greedy: true, maxTokens: 512 });
  assert.equal(await answer(), chatted.tokens.join(' '));
  assert.match(await text('#model-speed'), /^\d+ tokens, [\d.]+ a second on CPU/);
  assert.equal(await text('#model-said .user'), 'Hello there');

  await page.evaluate(() => {
    const mode = document.querySelector('#model-mode');
    mode.value = 'text';
    mode.dispatchEvent(new Event('change'));
  });
  await page.type('#model-prompt', 'Once upon');
  await page.press('Enter');
  const told = await model.generate('Once upon', { greedy: true, maxTokens: 512 });
  assert.equal(await answer(), told.tokens.join(' '));
  hg.dispose();
  await page.evaluate(() => document.querySelector('#model').scrollIntoView({ behavior: 'instant' }));
  await shot('model');

  await page.drop('#model-drop', 'notes.gguf', 'text/plain', Buffer.from('no model'));
  await page.until(() => !document.querySelector('#model-error').hidden);
  assert.match(await text('#model-error'), /notes\.gguf/);
});

test('Mandelbrot can be wandered in by mouse and keys', { skip }, async () => {
  await page.evaluate(() =>
    document.querySelector('#mandelbrot').scrollIntoView({ block: 'center', behavior: 'instant' }),
  );
  await page.until(() => document.querySelector('#mandelbrot-note').innerText.startsWith('The whole set'));
  const inside = await pixel('mandelbrot', 240, 160);
  assert.deepEqual(inside, [0, 0, 0]);
  await page.click('#mandelbrot');
  await page.until(() =>
    document.querySelector('#mandelbrot-note').innerText.startsWith('2.5 times closer'),
  );
  await page.evaluate(() => document.querySelector('#mandelbrot').focus());
  await page.send('Input.insertText', { text: '' });
  await page.press('ArrowRight');
  await page.click('#mandelbrot-in');
  await page.until(() => document.querySelector('#mandelbrot-note').innerText.startsWith('5 times closer'));
});

test('speed is measured and drawn, with results that agree', { skip }, async () => {
  await page.click('#measure');
  await page.until(() => /Done|agree|:/.test(document.querySelector('#measured').innerText), {
    patience: 240_000,
  });
  assert.equal(await text('#measured'), 'Done; all results agree.');
  const rows = await page.evaluate(() =>
    [...document.querySelectorAll('#times tbody tr')].map((r) => r.innerText),
  );
  assert.equal(rows.length, 4);
  for (const row of rows) assert.match(row, /\d (ms|s)[^]*× JavaScript/);
  assert.match(
    await page.evaluate(() => document.querySelector('#chart svg title').textContent),
    /Softmax: JavaScript \d/,
  );
  await page.evaluate(() => document.querySelector('#speed').scrollIntoView({ behavior: 'instant' }));
  await shot('speed');
});

test('keys suffice, and everything has a name', { skip }, async () => {
  await page.goto(site.url);
  await page.until(() => document.documentElement.dataset.ready === 'yes');
  await idle();
  await page.press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement.innerText), 'Skip to the editor');
  await page.type('#source', '6 * 7');
  await page.press('Enter', 'ctrl');
  await page.until(() => document.querySelector('.big')?.innerText === '42');
  const { nodes } = await page.send('Accessibility.getFullAXTree');
  const roles = [
    'button',
    'textbox',
    'combobox',
    'radio',
    'slider',
    'link',
    'image',
    'img',
    'application',
    'radiogroup',
  ];
  const named = nodes.filter((n) => !n.ignored && roles.includes(n.role?.value));
  assert.ok(named.length > 25);
  assert.deepEqual(
    named.filter((n) => !n.name?.value).map((n) => n.role.value),
    [],
  );
});

test('it fits a phone, light and dark', { skip }, async () => {
  for (const dark of [false, true]) {
    const phone = await browser.open(site.url, { width: 360, height: 740, phone: true, dark });
    await phone.until(() => document.documentElement.dataset.ready === 'yes');
    await phone.until(
      () =>
        document.querySelector('#result canvas') &&
        /paths? a pixel in/.test(document.querySelector('#tracer-note').innerText),
    );
    assert.ok(
      await phone.evaluate(() => document.documentElement.scrollWidth <= 360),
      'nothing sticks out',
    );
    const [background, ink] = await phone.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.backgroundColor, style.color].map((c) => /\d+/.exec(c)[0]);
    });
    assert.ok(dark ? Number(background) < Number(ink) : Number(background) > Number(ink));
    const small = await phone.evaluate(() =>
      [...document.querySelectorAll('button, select, .button')]
        .filter((e) => e.offsetHeight > 0 && e.offsetHeight < 32)
        .map((e) => e.innerText),
    );
    assert.deepEqual(small, [], 'large enough for a finger');
    await phone.screenshot(`${built}screenshots/phone-${dark ? 'dark' : 'light'}.png`, { whole: true });
    assert.deepEqual(phone.complaints, []);
    await phone.close();
  }
});

test('without its module it says what is missing', { skip }, async () => {
  const bare = await serve({ '/': `${built}page`, '/hologram/': `${built}page/examples` });
  const lost = await browser.open(bare.url);
  await lost.until(() =>
    /hologram\.wasm is not on this server/.test(document.querySelector('#boot[role=alert]')?.innerText),
  );
  await lost.screenshot(`${built}screenshots/missing.png`);
  await lost.goto(new URL('page/index.html', new URL('../../build-web/', import.meta.url)).href);
  await lost.until(() => /needs a web server/.test(document.querySelector('#boot').innerText));
  await lost.close();
  await bare.close();
});

test('it complained of nothing in all that', { skip }, () => assert.deepEqual(page.complaints, []));
