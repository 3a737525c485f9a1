// The editor: a text, a field for each value that it needs, what it is for a GPU, and what it gives.
import { $, element, showError } from './dom.js';
import { looksLikeProgram, paint, placeIn } from './language.js';
import { showResult, showWaiting } from './result.js';
import { SAMPLES } from './samples.js';

const LANGUAGES = {
  wgsl: 'WGSL',
  cuda: 'CUDA C',
  hip: 'HIP',
  metal: 'Metal',
  opencl: 'OpenCL C',
  atlas: 'Atlas, optimised',
};

export function startEditor({ engines, settings, programs }) {
  const engine = engines.editor;
  const source = $('source'),
    lines = document.querySelector('.lines'),
    sheet = document.querySelector('.paint');
  let values = {}; // what the visitor wrote into fields, by name
  let shown = ''; // the fields that are there
  let turn = 0; // of the last look; answers to older ones are late

  function repaint(wrongLine) {
    paint(sheet, `${source.value}\n`);
    const count = source.value.split('\n').length;
    lines.replaceChildren(
      ...Array.from({ length: count }, (_, i) =>
        element('span', { className: i + 1 === wrongLine ? 'wrong' : '' }, `${i + 1}\n`),
      ),
    );
  }

  function setFields(fields) {
    const now = JSON.stringify(fields.map((f) => [f.name, f.kind, f.dtype, f.shape]));
    if (now === shown) return;
    shown = now;
    $('inputs').replaceChildren(
      ...fields.map(({ name, kind, dtype, shape, value }) => {
        const type =
          kind === 'size'
            ? 'length'
            : dtype
              ? `${dtype}${kind === 'tensor' ? `[${shape?.join(', ') ?? ''}]` : ''}`
              : '';
        const input = element('input', {
          type: 'text',
          name,
          value: values[name] ?? value,
          spellcheck: false,
          autocomplete: 'off',
        });
        input.addEventListener('input', () => {
          values[name] = input.value;
          soon();
        });
        return element('label', {}, element('b', {}, name), ` ${type}`, input);
      }),
    );
  }

  const markField = (name) => {
    for (const input of $('inputs').querySelectorAll('input')) {
      if (input.name === name) input.setAttribute('aria-invalid', 'true');
      else input.removeAttribute('aria-invalid');
    }
  };

  // An error of the text, with its line marked, or of a field.
  function complain(error) {
    if (error?.kind === 'Stopped') return;
    const place = error && !error.field ? placeIn(error.message) : undefined;
    repaint(place?.line);
    markField(error?.field);
    showError(
      $('source-error'),
      error &&
        (error.field ? { ...error, message: `The value of ${error.field}: ${error.message}` } : error),
    );
    if (place) source.setAttribute('aria-invalid', 'true');
    else source.removeAttribute('aria-invalid');
  }

  // Shows what the text is and needs; whether it is right.
  async function look() {
    const mine = ++turn,
      printed = $('printed'),
      dialect = $('dialect').value;
    const program = looksLikeProgram(source.value);
    $('source-title').textContent = program ? 'Program' : 'Expression';
    $('printed-title').textContent = LANGUAGES[dialect];
    if (source.value.trim() === '') {
      complain(undefined);
      setFields([]);
      printed.textContent = '';
      printed.setAttribute('aria-busy', 'false');
      $('printed-note').textContent = 'Write something, or start from one of the samples.';
      return false;
    }
    try {
      const seen = await engine.ask('look', {
        backend: settings.backend,
        text: source.value,
        values,
        dialect,
      });
      if (mine !== turn) return true;
      printed.setAttribute('aria-busy', 'false');
      setFields(seen.fields);
      if (seen.error) throw seen.error;
      complain(undefined);
      paint(printed, seen.code);
      printed.classList.remove('stale');
      $('copy').disabled = seen.code === '';
      $('printed-note').textContent = seen.note;
      return true;
    } catch (error) {
      if (mine !== turn) return true;
      printed.setAttribute('aria-busy', 'false');
      complain(error);
      printed.classList.add('stale');
      $('printed-note').textContent = printed.textContent === '' ? '' : 'Of the text before the mistake.';
      return false;
    }
  }
  let timer;
  // The same when the visitor pauses; until then what is printed is not that of the text.
  const soon = () => {
    clearTimeout(timer);
    $('printed').setAttribute('aria-busy', 'true');
    timer = setTimeout(look, 250);
  };

  async function run() {
    clearTimeout(timer);
    const button = $('run'),
      stop = $('stop');
    if (button.disabled || source.value.trim() === '') return;
    button.disabled = true;
    const patience = setTimeout(() => {
      stop.hidden = false;
    }, 300);
    showWaiting($('result'));
    try {
      if (!(await look())) throw undefined;
      const answer = await engine.ask('evaluate', {
        backend: settings.backend,
        text: source.value,
        values,
      });
      complain(undefined);
      showResult($('result'), answer);
    } catch (error) {
      if (error) complain(error);
      showResult(
        $('result'),
        undefined,
        error?.kind === 'Stopped'
          ? 'Stopped. Nothing is lost but the result.'
          : 'No result: the reason stands under the text.',
      );
    }
    clearTimeout(patience);
    stop.hidden = true;
    button.disabled = false;
  }

  function load({ text, example, values: given = {} }) {
    source.value = text ?? programs[example].trimEnd();
    values = { ...given };
    shown = '';
    $('editor').scrollTo(0, 0);
    repaint();
    run();
  }

  $('sample').replaceChildren(
    ...SAMPLES.map(({ id, title }) => element('option', { value: id }, title)),
    element('option', { value: 'own', disabled: true }, 'your own text'),
  );
  $('sample').addEventListener('change', () => load(SAMPLES.find((s) => s.id === $('sample').value)));
  $('dialect').addEventListener('change', look);
  source.addEventListener('input', () => {
    $('sample').value = 'own';
    repaint();
    soon();
  });
  source.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    run();
  });
  $('inputs').addEventListener('submit', (event) => {
    event.preventDefault();
    run();
  });
  $('run').addEventListener('click', run);
  $('stop').addEventListener('click', () => engine.stop());
  $('copy').addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText($('printed').textContent);
      $('printed-note').textContent = 'Copied.';
    } catch {
      $('printed-note').textContent = 'The browser does not let this page copy: select the text instead.';
    }
  });
  settings.listeners.push(() => run());
  load(SAMPLES[0]);
  return {
    open(name) {
      const sample = SAMPLES.find((s) => s.example === name);
      $('sample').value = sample.id;
      load(sample);
      $('try').scrollIntoView();
      source.focus({ preventScroll: true });
    },
  };
}
