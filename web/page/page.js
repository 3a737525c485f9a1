// The page: loads the module once, finds out what there is to compute with, and brings the sections to
// life, each with a worker of its own so that none waits for another.
import { startDevices } from './devices.js';
import { startEditor } from './editor.js';
import { Engine } from './engine.js';
import { startGallery } from './gallery.js';
import { startModel } from './model.js';
import { startSpeed } from './speed.js';
import { $ } from './dom.js';

const EXAMPLES = [
  'bilateral',
  'gaussian_blur',
  'sobel',
  'mandelbrot',
  'pathtracer',
  'saxpy',
  'histogram',
  'reduce',
  'scene',
];

async function fetched(path) {
  const answer = await fetch(new URL(path, import.meta.url));
  if (!answer.ok)
    throw new Error(
      `${path} is not on this server (${answer.status}): it needs the whole folder build-web/page.`,
    );
  return answer;
}

async function load() {
  const boot = $('boot');
  boot.textContent = 'Loading hologram, 7 MB of WebAssembly…';
  const texts = Promise.all(
    EXAMPLES.map(async (name) => [name, await (await fetched(`examples/${name}.atlas`)).text()]),
  );
  let wasm;
  try {
    // By bytes, as not every server knows the type of WebAssembly.
    const module = crossOriginIsolated ? 'hologram/hologram-threads.wasm' : 'hologram/hologram.wasm';
    wasm = await WebAssembly.compile(await (await fetched(module)).arrayBuffer());
  } catch (e) {
    if (e instanceof WebAssembly.CompileError)
      throw new Error(
        'This browser cannot run it: WebAssembly with vectors and exceptions is needed, ' +
          'as in Chrome 95, Firefox 100, Safari 16.4 and later.',
      );
    throw e;
  }
  const programs = Object.fromEntries(await texts);
  boot.textContent = '';
  return { wasm, programs };
}

try {
  const { wasm, programs } = await load();
  const start = { wasm, scene: programs.scene };
  const engines = { editor: new Engine(start), gallery: new Engine(start), tracer: new Engine(start) };
  // The backend in use, the CPU until it is known what there is; those who listen hear of another one.
  const settings = {
    backend: 'cpu',
    listeners: [],
    choose(backend) {
      if (backend === this.backend) return;
      this.backend = backend;
      for (const listener of this.listeners) listener(backend);
    },
  };
  const page = { start, engines, settings, programs };
  for (const button of document.querySelectorAll('button[disabled]')) button.disabled = false;
  const editor = startEditor(page);
  for (const button of document.querySelectorAll('[data-open]'))
    button.addEventListener('click', () => editor.open(button.dataset.open));
  await startDevices(page);
  startGallery(page);
  startModel(page);
  startSpeed(page);
  document.documentElement.dataset.ready = 'yes';
} catch (error) {
  const boot = $('boot');
  document.body.classList.add('alone');
  boot.classList.add('bad');
  boot.setAttribute('role', 'alert');
  boot.textContent = error.message ?? String(error);
}
