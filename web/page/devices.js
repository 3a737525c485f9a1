// What this browser has to compute with, and which of it is used.
import { $, backendName, element, milliseconds } from './dom.js';
import { Engine } from './engine.js';

const FEW = '^(add|mul|sum)/f32/'; // cases for a GPU in software, which takes long to compile each

// The WebGPU adapter as the browser describes it, or why there is none.
async function adapterOf() {
  if (!navigator.gpu)
    return {
      missing: isSecureContext
        ? 'This browser offers no WebGPU.'
        : 'WebGPU needs a page from https or from this machine.',
    };
  let adapter;
  try {
    adapter = await navigator.gpu.requestAdapter({ powerPreference: 'high-performance' });
  } catch (e) {
    return { missing: `WebGPU failed: ${e.message}` };
  }
  if (!adapter) return { missing: 'WebGPU found no adapter: its driver may be blocked or missing.' };
  const info = adapter.info ?? {};
  const name =
    info.description ||
    [info.vendor, info.architecture, info.device].filter(Boolean).join(' ') ||
    'an unnamed adapter';
  const software =
    info.isFallbackAdapter || adapter.isFallbackAdapter || /swiftshader|llvmpipe|basic render/i.test(name);
  return { adapter, info, name, software };
}

const mib = (bytes) =>
  bytes >= 1 << 30
    ? `${+(bytes / 2 ** 30).toFixed(1)} GiB`
    : bytes >= 1 << 20
      ? `${+(bytes / 2 ** 20).toFixed(1)} MiB`
      : `${bytes / 1024} KiB`;

function limitsOf({ adapter, info }, cpu) {
  const rows = [
    ['Browser', navigator.userAgent],
    [
      'Processor',
      `${navigator.hardwareConcurrency ?? '?'} threads; hologram uses ${cpu.threads}, with vectors of 128 bits`,
    ],
    ['Memory of the module', `up to ${mib(cpu.memory)}`],
    ['Functions of expressions', cpu.functions],
  ];
  if (!adapter) return rows;
  const { limits, features } = adapter;
  rows.push(
    [
      'GPU',
      [info.vendor, info.architecture, info.device, info.description].filter(Boolean).join(' · ') ||
        'not told',
    ],
    ['Largest buffer', mib(limits.maxBufferSize)],
    ['Largest binding', mib(limits.maxStorageBufferBindingSize)],
    ['Buffers in a kernel', limits.maxStorageBuffersPerShaderStage],
    ['Lanes in a workgroup', limits.maxComputeInvocationsPerWorkgroup],
    ['Memory of a workgroup', mib(limits.maxComputeWorkgroupStorageSize)],
    [
      'Features',
      ['shader-f16', 'subgroups', 'timestamp-query']
        .map((f) => `${f}: ${features.has(f) ? 'yes' : 'no'}`)
        .join(', '),
    ],
  );
  return rows;
}

function threadsOf({ threads }) {
  if (threads > 1) return `${threads} threads`;
  return crossOriginIsolated ? 'one thread' : 'one thread, as the server does not isolate the page';
}

// The three cards: what can be chosen, and why not where it cannot.
function choicesOf(gpu, cpu, webgpu, auto) {
  const name = webgpu.name && webgpu.name !== 'WebGPU' ? webgpu.name : gpu.name;
  const whyNot = `${gpu.adapter ? `${gpu.name} is there. ` : ''}${webgpu.error?.message}`;
  // "cpu, as …" of the runtime, or what is known here.
  const reason =
    auto.why?.replace(/^(cpu|webgpu)|\.+$/g, '') ??
    (auto.backend === 'webgpu' ? ', as the GPU computes here' : ', as WebGPU cannot be used here');
  return [
    {
      value: 'auto',
      title: 'Automatic',
      text: `Takes ${backendName(auto.backend)}${reason}.`,
      there: true,
    },
    {
      value: 'cpu',
      title: 'CPU',
      text: `WebAssembly, ${threadsOf(cpu)}; f32 results to the bit as on every exact device.`,
      there: true,
    },
    {
      value: 'webgpu',
      title: 'WebGPU',
      text: webgpu.error
        ? whyNot
        : `${name}${gpu.software ? ', in software' : ''}; results within documented bounds.`,
      there: !webgpu.error,
    },
  ];
}

function card({ value, title, text, there }, chosen) {
  const input = element('input', {
    type: 'radio',
    name: 'backend',
    value,
    checked: value === 'auto',
    disabled: !there,
  });
  input.addEventListener('change', () => chosen(value));
  const className = `choice ${there ? 'there' : 'wanting'}`;
  return element('label', { className }, input, element('b', {}, title), element('span', {}, text));
}

function tableOf(rows) {
  const row = ([name, value]) =>
    element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, String(value)));
  return element('tbody', {}, ...rows.map(row));
}

// What a self-test found, in a sentence.
function verdict({ passed, failed, unsupported, skipped, failures }, ms) {
  const aside = [unsupported && `${unsupported} not supported`, skipped && `${skipped} skipped`].filter(
    Boolean,
  );
  const all = [`${passed} of ${passed + failed} arithmetic checks passed`, ...aside].join('; ');
  const first = failed ? ` The first that is wrong: ${failures[0].name}: ${failures[0].reason}` : '';
  return `${all}, in ${milliseconds(ms)}.${first}`;
}

export async function startDevices({ start, settings }) {
  const engine = new Engine(start);
  const opened = (backend) => engine.ask('device', { backend }).catch((error) => ({ error }));
  const gpu = await adapterOf();
  const cpu = await opened('cpu');
  if (cpu.error) throw new Error(`${cpu.error.message} ${cpu.error.remedy}`);
  const webgpu = gpu.adapter ? await opened('webgpu') : { error: { message: gpu.missing } };
  const auto = await opened('auto');

  let asked = 0;
  async function check() {
    const mine = ++asked;
    const began = performance.now();
    $('check').disabled = true;
    $('checked').textContent = 'Comparing its arithmetic with float64…';
    const told = await engine
      .ask('selfTest', { backend: settings.backend, filter: settings.software && FEW })
      .then(
        (report) => verdict(report, performance.now() - began),
        (e) => `The check could not run: ${e.message} ${e.remedy ?? ''}`,
      );
    if (mine !== asked) return; // another backend was chosen meanwhile
    $('checked').textContent = told;
    $('check').disabled = false;
  }
  const choose = (backend) => {
    settings.software = backend === 'webgpu' && gpu.software;
    // A GPU in software is timed if it is chosen.
    settings.timed = webgpu.error || (gpu.software && !settings.software) ? ['cpu'] : ['cpu', 'webgpu'];
    settings.choose(backend === 'auto' ? auto.backend : backend);
    $('chosen').textContent = `Running on ${backendName(settings.backend)}.`;
    check();
  };

  $('backends').replaceChildren(...choicesOf(gpu, cpu, webgpu, auto).map((choice) => card(choice, choose)));
  $('limits-table').replaceChildren(tableOf(limitsOf(gpu, cpu)));
  settings.label = (backend) =>
    backend === 'webgpu' && gpu.software ? 'WebGPU (software)' : backendName(backend);
  $('check').addEventListener('click', check);
  choose('auto');
}
