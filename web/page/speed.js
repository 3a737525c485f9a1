// The table and chart of times.
import { WORKLOADS } from './bench.js';
import { chart } from './chart.js';
import { $, element, milliseconds } from './dom.js';
import { Engine } from './engine.js';

const rate = ({ work, unit }, ms) => {
  const perSecond = work / ms / (unit === 'Mpixel/s' ? 1 : 1e6);
  return `${perSecond >= 100 ? perSecond.toFixed(0) : perSecond >= 1 ? perSecond.toFixed(1) : perSecond.toFixed(3)} ${unit}`;
};

export function startSpeed({ start, settings, programs }) {
  let engine;
  $('measure').addEventListener('click', async () => {
    const backends = settings.timed,
      runners = ['js', ...backends];
    const label = (runner) =>
      runner === 'js' ? 'JavaScript' : runner === 'cpu' ? 'WebAssembly' : settings.label(runner);
    const results = [];
    $('measure').disabled = true;
    $('measure-stop').hidden = false;
    engine = new Engine(start);
    try {
      for (const workload of WORKLOADS) {
        $('measured').textContent =
          `${workload.title}, ${results.length + 1} of ${WORKLOADS.length}…${settings.software ? ' WebGPU in software may take minutes.' : ''}`;
        const rows = await engine.ask('measure', {
          workload: workload.id,
          backends,
          programs: { bilateral: programs.bilateral },
        });
        results.push({ workload, rows });
        chart($('chart'), results, runners, label);
        table(results, runners, label);
      }
      const wrong = results.flatMap(({ workload, rows }) =>
        rows.filter((r) => !r.right).map((r) => `${workload.title} on ${label(r.runner)}`),
      );
      $('measured').textContent =
        wrong.length === 0
          ? 'Done; all results agree.'
          : `Results that do not agree, and so have no time: ${wrong.join(', ')}.`;
    } catch (e) {
      $('measured').textContent = e.kind === 'Stopped' ? 'Stopped.' : `${e.message} ${e.remedy ?? ''}`;
    }
    engine.end();
    $('measure').disabled = false;
    $('measure').textContent = 'Measure again';
    $('measure-stop').hidden = true;
  });
  $('measure-stop').addEventListener('click', () => engine.end());

  function table(results, runners, label) {
    const times = $('times');
    times.hidden = false;
    times.replaceChildren(
      element('caption', { className: 'skip' }, 'Times of each workload'),
      element(
        'thead',
        {},
        element(
          'tr',
          {},
          element('th', { scope: 'col' }, 'Work'),
          ...runners.map((r) => element('th', { scope: 'col', className: 'n' }, label(r))),
        ),
      ),
      element(
        'tbody',
        {},
        ...results.map(({ workload, rows }) => {
          const js = rows.find((r) => r.runner === 'js').ms;
          return element(
            'tr',
            {},
            element('th', { scope: 'row' }, workload.title, element('small', {}, workload.what)),
            ...runners.map((runner) => {
              const { ms, worst } = rows.find((r) => r.runner === runner);
              if (ms === undefined)
                return element(
                  'td',
                  { className: 'n' },
                  'wrong',
                  element('small', {}, `off by ${worst.toPrecision(2)}`),
                );
              const ratio =
                runner === 'js' ? '' : `, ${(js / ms).toFixed(js / ms < 10 ? 2 : 0)} × JavaScript`;
              return element(
                'td',
                { className: 'n' },
                milliseconds(ms),
                element('small', {}, rate(workload, ms) + ratio),
              );
            }),
          );
        }),
      ),
    );
  }
}
