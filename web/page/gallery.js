// The examples that run by themselves: the path tracer at the top, Mandelbrot to wander in, and filters
// for a picture.
import { $, backendName, draw, later, milliseconds, showError, whenSeen } from './dom.js';

const SLOW = 'WebGPU in software may take minutes for it, and so waits for a click.';
const LARGEST = 480; // pixels along the longer side of a picture
const FIRST_LIGHT = 16; // paths a pixel before the visitor asks for more

export function startGallery(page) {
  tracer(page);
  mandelbrot(page);
  filters(page);
}

// Renders with 1, 2, 4, … paths a pixel, each picture whole, so that it clears up before one's eyes.
function tracer({ engines, settings, programs }) {
  const button = $('tracer-more'),
    note = $('tracer-note');
  let most = FIRST_LIGHT,
    samples = 1,
    running = false;
  async function render() {
    running = true;
    button.textContent = 'Stop';
    let error, last;
    for (; samples <= most; samples *= 2) {
      try {
        last = await engines.tracer.ask('render', {
          backend: settings.backend,
          text: programs.pathtracer,
          values: { w: 400, h: 250, samples },
        });
        draw($('tracer'), last.bitmap);
        note.textContent = `${samples} ${samples === 1 ? 'path' : 'paths'} a pixel in ${milliseconds(last.ms)} on ${backendName(last.device)}.`;
      } catch (e) {
        error = e;
        break;
      }
    }
    running = false;
    button.textContent = 'More light';
    if (error && error.kind !== 'Stopped') note.textContent = `${error.message} ${error.remedy}`;
  }
  button.addEventListener('click', () => {
    if (running) {
      engines.tracer.stop();
      return;
    }
    most = Math.max(samples, most) * 4;
    render();
  });
  settings.listeners.push(() => {
    if (running) engines.tracer.stop();
    samples = 1;
    most = FIRST_LIGHT;
    if (settings.software) note.textContent = SLOW;
    else later(0).then(render);
  });
  render();
}

function mandelbrot({ engines, settings, programs }) {
  const canvas = $('mandelbrot'),
    note = $('mandelbrot-note');
  const home = { center_x: -0.65, center_y: 0, width: 3.2 };
  let view = { ...home },
    busy = false,
    again = false;
  async function render() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const rounds = Math.round(Math.min(300 + 120 * Math.log2(home.width / view.width), 2000));
      const seen = { ...view };
      const { bitmap, ms, device } = await engines.gallery.ask('render', {
        backend: settings.backend,
        text: programs.mandelbrot,
        values: { w: 480, h: 320, rounds, ...seen },
      });
      draw(canvas, bitmap);
      const times = home.width / seen.width;
      note.textContent =
        `${times < 1.01 ? 'The whole set' : `${times >= 100 ? Math.round(times).toLocaleString('en') : +times.toFixed(1)} times closer`}, ` +
        `up to ${rounds} rounds a pixel, in ${milliseconds(ms)} on ${backendName(device)}.` +
        (times > 1e5 ? ' Closer than this, f32 has no digits left.' : '');
    } catch (e) {
      if (e.kind !== 'Stopped') note.textContent = `${e.message} ${e.remedy}`;
    }
    busy = false;
    if (again) {
      again = false;
      render();
    }
  }
  const zoom = (factor, x = 0.5, y = 0.5) => {
    const height = (view.width * 320) / 480;
    view.center_x += (x - 0.5) * view.width;
    view.center_y -= (y - 0.5) * height;
    view.width = Math.min(Math.max(view.width * factor, home.width / 2e5), home.width);
    render();
  };
  canvas.addEventListener('click', (event) => {
    const box = canvas.getBoundingClientRect();
    zoom(0.4, (event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height);
  });
  canvas.addEventListener('keydown', (event) => {
    const keys = {
      'ArrowLeft': [1, 0.35, 0.5],
      'ArrowRight': [1, 0.65, 0.5],
      'ArrowUp': [1, 0.5, 0.35],
      'ArrowDown': [1, 0.5, 0.65],
      '+': [0.6],
      '=': [0.6],
      '-': [1 / 0.6],
    };
    if (!(event.key in keys)) return;
    event.preventDefault();
    zoom(...keys[event.key]);
  });
  $('mandelbrot-in').addEventListener('click', () => zoom(0.5));
  $('mandelbrot-out').addEventListener('click', () => zoom(2));
  $('mandelbrot-home').addEventListener('click', () => {
    view = { ...home };
    render();
  });
  const renderUnless = (slow) => {
    if (slow) note.textContent = SLOW;
    else render();
  };
  let seen = false;
  whenSeen(canvas, () => {
    seen = true;
    renderUnless(settings.software);
  });
  settings.listeners.push(() => {
    if (seen) renderUnless(settings.software);
  });
}

function filters({ engines, settings, programs }) {
  const note = $('filter-note'),
    box = $('drop');
  let busy = false,
    again = false,
    fresh = true;
  const values = () =>
    ({
      bilateral: { src: 'picture', sigma_space: +$('space').value, sigma_range: +$('range').value },
      gaussian_blur: { src: 'picture', sigma: +$('space').value },
      sobel: { src: 'picture', gain: 1.5 },
    })[$('filter').value];
  async function render() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    const name = $('filter').value;
    $('space').disabled = name === 'sobel';
    $('range').disabled = name !== 'bilateral';
    $('filter-open').dataset.open = name;
    try {
      if (fresh) {
        fresh = false;
        draw($('before'), (await engines.gallery.ask('photo', { backend: settings.backend })).bitmap);
      }
      const { bitmap, ms, device } = await engines.gallery.ask('render', {
        backend: settings.backend,
        text: programs[name],
        values: values(),
      });
      const { width, height } = bitmap;
      draw($('after'), bitmap);
      note.textContent = `${width} × ${height} pixels in ${milliseconds(ms)} on ${backendName(device)}. Drop a picture of your own: it stays on this machine.`;
      showError($('filter-error'));
    } catch (e) {
      if (e.kind !== 'Stopped') showError($('filter-error'), e);
    }
    busy = false;
    if (again) {
      again = false;
      render();
    }
  }

  async function take(file) {
    if (!file) return;
    try {
      if (!file.type.startsWith('image/')) throw new Error('no picture');
      let bitmap = await createImageBitmap(file);
      const scale = Math.min(1, LARGEST / Math.max(bitmap.width, bitmap.height));
      if (scale < 1)
        bitmap = await createImageBitmap(bitmap, {
          resizeWidth: Math.round(bitmap.width * scale),
          resizeHeight: Math.round(bitmap.height * scale),
          resizeQuality: 'high',
        });
      fresh = true;
      for (const engine of Object.values(engines)) {
        engine.remember({ picture: bitmap });
        await engine.ask('picture', { bitmap });
      }
      showError($('filter-error'));
      note.textContent = `Filtering ${file.name}…`;
      render();
    } catch {
      showError($('filter-error'), {
        message: `“${file.name}” is no picture that this browser can read.`,
        remedy: 'Choose a PNG, a JPEG or a WebP.',
      });
    }
  }

  for (const id of ['space', 'range']) {
    $(id).addEventListener('input', () => {
      $(`${id}-value`).textContent = $(id).value;
      render();
    });
  }
  $('filter').addEventListener('change', render);
  $('file').addEventListener('change', () => take($('file').files[0]));
  let depth = 0;
  box.addEventListener('dragenter', () => {
    depth++;
    box.classList.add('over');
  });
  box.addEventListener('dragleave', () => {
    if (--depth <= 0) {
      depth = 0;
      box.classList.remove('over');
    }
  });
  box.addEventListener('dragover', (event) => event.preventDefault());
  box.addEventListener('drop', (event) => {
    event.preventDefault();
    depth = 0;
    box.classList.remove('over');
    take(event.dataTransfer.files[0]);
  });
  // A picture dropped beside the card must not replace the page.
  for (const type of ['dragover', 'drop']) addEventListener(type, (event) => event.preventDefault());
  const renderUnless = (slow) => {
    if (slow) note.textContent = SLOW;
    else render();
  };
  let seen = false;
  whenSeen(box, () => {
    seen = true;
    renderUnless(settings.software);
  });
  settings.listeners.push(() => {
    if (seen) renderUnless(settings.software);
  });
}
