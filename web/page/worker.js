// What computes, beside the page so that the page stays quick: one runtime a backend, asked by messages
// { id, what, ...arguments } and answering { id, value } or { id, error }, after any number of { id, step }.
// engine.js is the other end.
import { Hologram } from './hologram/hologram.js';
import { measure } from './bench.js';
import { evaluate, look } from './evaluate.js';

let wasm, scene, picture;
const runtimes = new Map(); // by backend: { hg, photo }
let model, enough; // a language model, and what ends its answer

async function runtime(backend) {
  if (!runtimes.has(backend)) {
    const onLost = () => runtimes.delete(backend); // the next task has a new one
    const hg = await Hologram.create({ backend, onLost, ...(wasm && { wasm }) });
    runtimes.set(backend, { hg, photo: undefined });
  }
  return runtimes.get(backend);
}

// The picture that inputs call "picture": the one that was dropped, or a noisy one made here.
async function photo(backend) {
  const one = await runtime(backend);
  if (one.photo === undefined) {
    if (picture) {
      const colours = await one.hg.image(picture);
      one.photo = await one.hg.eval('p[:, :, :3]', { p: colours });
    } else {
      one.photo = (await (await one.hg.program(scene)).run({ w: 360, h: 240, noise_level: 0.07 })).picture;
    }
    await one.photo.data();
  }
  return one.photo;
}

const TASKS = {
  // wasm: the compiled module; scene: the program of the picture to begin with; picture: one that was
  // dropped since.
  async start(given) {
    ({ wasm, scene, picture } = given);
    return true;
  },
  async device({ backend }) {
    const { hg } = await runtime(backend);
    const why = typeof hg.why === 'function' ? await hg.why() : hg.why;
    return {
      ...hg.device,
      why: why === undefined ? undefined : String(why),
      functions: hg.functions.length,
      threads: hg.threads,
    };
  },
  async selfTest({ backend, filter }) {
    const { hg } = await runtime(backend);
    return hg.selfTest(...(filter ? [filter] : []));
  },
  async picture({ bitmap }) {
    picture = bitmap;
    for (const one of runtimes.values()) {
      one.photo?.dispose();
      one.photo = undefined;
    }
    return true;
  },
  async look({ backend, text, values, dialect }) {
    const { hg } = await runtime(backend);
    return look(hg, text, values, dialect, () => photo(backend));
  },
  async evaluate({ backend, text, values }) {
    const { hg } = await runtime(backend);
    return { ...(await evaluate(hg, text, values, () => photo(backend))), device: hg.device.backend };
  },
  // Runs a program that gives one picture; inputs that are the word "picture" are that.
  async render({ backend, text, values }) {
    const { hg } = await runtime(backend);
    const inputs = {};
    for (const [name, value] of Object.entries(values))
      inputs[name] = value === 'picture' ? await photo(backend) : value;
    const began = performance.now();
    const [output] = Object.values(await (await hg.program(text)).run(inputs));
    const canvas = await output.toCanvas(new OffscreenCanvas(1, 1));
    const ms = performance.now() - began;
    output.dispose();
    return { bitmap: canvas.transferToImageBitmap(), ms, device: hg.device.backend };
  },
  async photo({ backend }) {
    const canvas = await (await photo(backend)).toCanvas(new OffscreenCanvas(1, 1));
    return { bitmap: canvas.transferToImageBitmap() };
  },
  async model({ backend, file }, tell) {
    const { hg } = await runtime(backend);
    model = await hg.loadModel(file, { onProgress: tell });
    const { architecture, context, hasChatTemplate: chats, loadSeconds: seconds } = model;
    return { architecture, context, chats, seconds, device: hg.backend };
  },
  async write({ prompt, options }, tell) {
    enough = new AbortController();
    return model.generate(prompt, { ...options, signal: enough.signal }, tell);
  },
  async measure({ backends, workload, programs }) {
    const all = {};
    for (const backend of backends) all[backend] = (await runtime(backend)).hg;
    return measure(workload, all, programs);
  },
};

let last = Promise.resolve();
addEventListener('message', ({ data: { id, what, ...given } }) => {
  // It is about what is going on, and must not wait for that.
  if (what === 'enough') {
    enough?.abort();
    return postMessage({ id, value: true });
  }
  // One after another: a runtime does one thing at a time.
  last = last.then(async () => {
    try {
      const value = await TASKS[what](given, (step) => postMessage({ id, step }));
      const pictures = [value, ...(value?.outputs ?? [])].flatMap((v) => v?.bitmap ?? []);
      postMessage({ id, value }, pictures);
    } catch (e) {
      const { kind = e.name, message, remedy = '', field } = e;
      postMessage({ id, error: { kind, message, remedy, field } });
    }
  });
});
