// Chromium without a window, for tests: started here and driven through its DevTools protocol over two
// pipes, so that nothing but Node and the distribution's browser is needed.
//
//   const site = await serve({ '/': 'build-web/page' });
//   const browser = await Chromium.launch();
//   const page = await browser.open(site.url);
//   await page.until(() => document.title !== '');
//   await page.screenshot('build-web/screenshots/page.png');
//   await browser.close();
//   await site.close();
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, dirname, extname, join, resolve, sep } from 'node:path';

const PATIENCE = 120_000; // milliseconds that anything may take unless told otherwise

// Where Chromium is: HOLOGRAM_CHROMIUM, or the first of its names in PATH; undefined if nowhere.
export function findChromium() {
  if (process.env.HOLOGRAM_CHROMIUM) return process.env.HOLOGRAM_CHROMIUM;
  const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
  const folders = (process.env.PATH ?? '').split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync);
}

const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.mjs': 'text/javascript',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.wasm': 'application/wasm',
  '.atlas': 'text/plain; charset=utf-8',
};

const ISOLATING = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

// Serves folders on this machine only: { '/': 'folder', '/hologram/': 'another' }, the longest name
// that fits first; isolated: so that pages may share memory with their workers. Gives { url, requests,
// close }; requests are the paths that were asked for.
export async function serve(folders, { isolated = false } = {}) {
  const mounts = Object.entries(folders).sort(([a], [b]) => b.length - a.length);
  const requests = [];
  const server = createServer(async (request, response) => {
    const path = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    requests.push(path);
    const [name, folder] = mounts.find(([prefix]) => path.startsWith(prefix)) ?? [];
    const root = resolve(folder ?? '.');
    const file = resolve(
      root,
      `.${sep}${path.slice(name?.length ?? 0)}`,
      path.endsWith('/') ? 'index.html' : '',
    );
    try {
      if (name === undefined || !file.startsWith(root + sep)) throw new Error('outside');
      const body = await readFile(file);
      response.writeHead(200, {
        'content-type': TYPES[extname(file)] ?? 'application/octet-stream',
        ...(isolated && ISOLATING),
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    requests,
    close: () =>
      new Promise((done) => {
        server.close(done);
        server.closeAllConnections?.();
      }),
  };
}

export class Chromium {
  #process;
  #folder;
  #pending = new Map();
  #listeners = new Map();
  #next = 0;
  #rest = '';
  #gone;

  // webgpu: with the adapter in software that Chromium brings. flags: more of its command line.
  static async launch({ webgpu = true, flags = [] } = {}) {
    const path = findChromium();
    if (path === undefined) throw new Error('There is no Chromium here: install the package chromium.');
    const browser = new Chromium();
    browser.#folder = await mkdtemp(join(tmpdir(), 'hologram-chromium-'));
    browser.#start(path, [
      '--headless=new',
      '--no-sandbox',
      '--remote-debugging-pipe',
      `--user-data-dir=${browser.#folder}`,
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-dev-shm-usage',
      '--hide-scrollbars',
      // It ends the GPU's process when SwiftShader compiles one function for longer than ten seconds.
      '--disable-gpu-watchdog',
      ...(webgpu ? ['--enable-unsafe-webgpu'] : []),
      ...flags,
      'about:blank',
    ]);
    browser.version = (await browser.send('Browser.getVersion')).product;
    return browser;
  }

  #start(path, flags) {
    this.#process = spawn(path, flags, { stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
    let complaints = '';
    this.#process.stderr.on('data', (data) => {
      complaints = (complaints + data).slice(-2000);
    });
    const end = (why) => {
      this.#gone ??= new Error(`Chromium ended: ${why}\n${complaints}`);
      for (const { fail } of this.#pending.values()) fail(this.#gone);
      this.#pending.clear();
    };
    this.#process.on('error', (e) => end(e.message));
    this.#process.on('exit', (code, signal) => end(code ?? signal));
    this.#process.stdio[3].on('error', () => {});
    this.#process.stdio[4].setEncoding('utf8').on('data', (data) => this.#receive(data));
  }

  #receive(data) {
    const messages = (this.#rest + data).split('\0');
    this.#rest = messages.pop();
    for (const message of messages.map((text) => JSON.parse(text))) {
      if (message.id === undefined) {
        this.#listeners.get(message.sessionId)?.(message.method, message.params);
        continue;
      }
      const { done, fail, timer, method } = this.#pending.get(message.id) ?? {};
      this.#pending.delete(message.id);
      clearTimeout(timer);
      if (message.error) fail?.(new Error(`${method}: ${message.error.message}`));
      else done?.(message.result);
    }
  }

  // A command of the protocol.
  send(method, params = {}, sessionId = undefined, patience = PATIENCE) {
    if (this.#gone) return Promise.reject(this.#gone);
    const id = ++this.#next;
    return new Promise((done, fail) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        fail(new Error(`${method} did not answer within ${patience} ms.`));
      }, patience);
      this.#pending.set(id, { done, fail, timer, method });
      this.#process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    });
  }

  // A new page of width x height; of a phone: touched, and with its pixels as dense.
  async open(url, { width = 1280, height = 900, phone = false, dark = false } = {}) {
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const page = new Page(this, targetId, sessionId);
    this.#listeners.set(sessionId, (method, params) => page.heard(method, params));
    for (const domain of ['Page', 'Runtime', 'Log']) await page.send(`${domain}.enable`);
    await page.send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: phone ? 2 : 1,
      mobile: phone,
    });
    if (phone) await page.send('Emulation.setTouchEmulationEnabled', { enabled: true });
    await page.send('Emulation.setEmulatedMedia', {
      features: [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }],
    });
    await page.goto(url);
    return page;
  }

  async close() {
    const ended = new Promise((done) => this.#process.once('exit', done));
    if (this.#gone === undefined) {
      this.send('Browser.close').catch(() => {});
      const slow = setTimeout(() => this.#process.kill('SIGKILL'), 5000);
      await ended;
      clearTimeout(slow);
    }
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

// One page. What it complains about, exceptions and errors in its console, collects in `complaints`.
class Page {
  #browser;
  #target;
  #session;
  #loaded;
  complaints = [];
  constructor(browser, target, session) {
    [this.#browser, this.#target, this.#session] = [browser, target, session];
  }
  send(method, params = {}, patience = PATIENCE) {
    return this.#browser.send(method, params, this.#session, patience);
  }
  heard(method, params) {
    if (method === 'Page.loadEventFired') this.#loaded?.();
    if (method === 'Runtime.exceptionThrown')
      this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    if (method === 'Runtime.consoleAPICalled' && params.type === 'error')
      this.complaints.push(params.args.map((a) => a.value ?? a.description).join(' '));
    if (method === 'Log.entryAdded' && params.entry.level === 'error')
      this.complaints.push(`${params.entry.text} ${params.entry.url ?? ''}`);
  }
  async goto(url) {
    const loaded = new Promise((done) => {
      this.#loaded = done;
    });
    const { errorText } = await this.send('Page.navigate', { url });
    if (errorText) throw new Error(`${url}: ${errorText}`);
    let timer;
    const slow = new Promise((_, fail) => {
      timer = setTimeout(() => fail(new Error(`${url} was not loaded within ${PATIENCE} ms.`)), PATIENCE);
    });
    await Promise.race([loaded, slow]).finally(() => clearTimeout(timer));
  }

  // What a function gives in the page, called there with these arguments; promises are waited for.
  async evaluate(body, ...args) {
    return this.#evaluate(PATIENCE, body, args);
  }
  async #evaluate(patience, body, args) {
    const { result, exceptionDetails } = await this.send(
      'Runtime.evaluate',
      {
        expression: `(${body})(...${JSON.stringify(args)})`,
        awaitPromise: true,
        returnByValue: true,
        userGesture: true,
      },
      patience,
    );
    if (exceptionDetails)
      throw new Error(`In the page: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }
  // Asks until the function gives something true, and gives that.
  async until(body, { patience = PATIENCE, args = [] } = {}) {
    const end = Date.now() + patience;
    for (;;) {
      const value = await this.#evaluate(patience, body, args);
      if (value) return value;
      if (Date.now() > end)
        throw new Error(`Not within ${patience} ms: ${body}\n${this.complaints.join('\n')}`);
      await new Promise((later) => setTimeout(later, 50));
    }
  }

  // As a visitor: a click in the middle of an element, text typed into one, keys, a file dropped.
  async click(selector) {
    const [x, y] = await this.evaluate((s) => {
      const element = document.querySelector(s);
      if (element === null) throw new Error(`There is no ${s}.`);
      element.scrollIntoView({ block: 'center', behavior: 'instant' });
      const box = element.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    }, selector);
    for (const type of ['mousePressed', 'mouseReleased'])
      await this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
  }
  async type(selector, text) {
    await this.evaluate((s) => {
      const e = document.querySelector(s);
      e.focus();
      e.select?.();
    }, selector);
    await this.send('Input.insertText', { text });
  }
  // key: "Tab", "Enter", "ArrowDown" …; modifiers: of "ctrl", "shift".
  async press(key, ...modifiers) {
    const codes = {
      'Tab': 9,
      'Enter': 13,
      'Escape': 27,
      ' ': 32,
      'ArrowLeft': 37,
      'ArrowUp': 38,
      'ArrowRight': 39,
      'ArrowDown': 40,
    };
    const bits = (modifiers.includes('ctrl') ? 2 : 0) + (modifiers.includes('shift') ? 8 : 0);
    const event = {
      key,
      code: key === ' ' ? 'Space' : key,
      windowsVirtualKeyCode: codes[key],
      modifiers: bits,
    };
    const text = { 'Enter': '\r', ' ': ' ' }[key];
    await this.send('Input.dispatchKeyEvent', {
      type: text && !bits ? 'keyDown' : 'rawKeyDown',
      text: bits ? undefined : text,
      ...event,
    });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', ...event });
  }
  async drop(selector, name, type, bytes) {
    await this.evaluate(
      (s, file, kind, base64) => {
        const data = new DataTransfer();
        const content = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
        data.items.add(new File([content], file, { type: kind }));
        for (const event of ['dragenter', 'dragover', 'drop'])
          document
            .querySelector(s)
            .dispatchEvent(new DragEvent(event, { dataTransfer: data, bubbles: true, cancelable: true }));
      },
      selector,
      name,
      type,
      Buffer.from(bytes).toString('base64'),
    );
  }

  // A picture of what is to be seen, or of the whole page, as PNG in a file.
  async screenshot(file, { whole = false } = {}) {
    let clip;
    if (whole) {
      const { cssContentSize } = await this.send('Page.getLayoutMetrics');
      clip = { x: 0, y: 0, width: cssContentSize.width, height: cssContentSize.height, scale: 1 };
    }
    const { data } = await this.send('Page.captureScreenshot', { captureBeyondViewport: whole, clip });
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, Buffer.from(data, 'base64'));
  }
  close() {
    return this.#browser.send('Target.closeTarget', { targetId: this.#target });
  }
}
