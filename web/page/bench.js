// What the page times: the same work by each runtime and by a loop in plain JavaScript, in turns, with
// results that are compared before a time counts. Times include reading the result back.

const random = (count) => {
  const values = new Float32Array(count);
  let state = 12345;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    values[i] = state / 4294967296;
  }
  return values;
};

const SIDE = 384,
  ROWS = 1024,
  COUNT = 1 << 20,
  WIDTH = 240,
  HEIGHT = 160;

// title, what; inputs: typed arrays with shapes; ours: an expression or { program, values };
// peer: the same in JavaScript; within: the largest difference that is no mistake; work, unit: what
// is done in each run, for a rate.
export const WORKLOADS = [
  {
    id: 'chain',
    title: 'A chain of operations',
    what: 'sigmoid(a * x + b) * x, 1 million numbers',
    inputs: { x: [random(COUNT), [COUNT]] },
    ours: 'sigmoid(3.5 * x + -1.25) * x',
    within: 1e-5,
    work: COUNT * 8,
    unit: 'GB/s',
    peer({ x }) {
      const y = new Float32Array(x.length);
      for (let i = 0; i < x.length; i++) y[i] = x[i] / (1 + Math.exp(-(3.5 * x[i] - 1.25)));
      return y;
    },
  },
  {
    id: 'softmax',
    title: 'Softmax',
    what: 'rows of 1024 × 1024',
    inputs: { x: [random(ROWS * ROWS), [ROWS, ROWS]] },
    ours: 'softmax(x)',
    within: 1e-6,
    work: ROWS * ROWS * 8,
    unit: 'GB/s',
    peer({ x }) {
      const y = new Float32Array(x.length);
      for (let r = 0; r < ROWS; r++) {
        const from = r * ROWS,
          to = from + ROWS;
        let most = -Infinity,
          sum = 0;
        for (let i = from; i < to; i++) most = Math.max(most, x[i]);
        for (let i = from; i < to; i++) sum += y[i] = Math.exp(x[i] - most);
        for (let i = from; i < to; i++) y[i] /= sum;
      }
      return y;
    },
  },
  {
    id: 'matmul',
    title: 'Matrix product',
    what: `${SIDE} × ${SIDE}`,
    inputs: { a: [random(SIDE * SIDE), [SIDE, SIDE]] },
    ours: 'a @ a',
    within: 1e-2,
    work: 2 * SIDE ** 3,
    unit: 'Gflop/s',
    peer({ a }) {
      const c = new Float32Array(SIDE * SIDE);
      for (let i = 0; i < SIDE; i++) {
        for (let k = 0; k < SIDE; k++) {
          const v = a[i * SIDE + k];
          for (let j = 0; j < SIDE; j++) c[i * SIDE + j] += v * a[k * SIDE + j];
        }
      }
      return c;
    },
  },
  {
    id: 'bilateral',
    title: 'Bilateral filter',
    what: `${WIDTH} × ${HEIGHT} pixels in colour, those within 6 of each`,
    inputs: { src: [random(WIDTH * HEIGHT * 3), [HEIGHT, WIDTH, 3]] },
    within: 1e-4,
    work: (WIDTH * HEIGHT) / 1000,
    unit: 'Mpixel/s',
    ours: { program: 'bilateral', values: { sigma_space: 3, sigma_range: 0.2 } },
    peer({ src }) {
      const out = new Float32Array(src.length),
        space = -0.5 / 9,
        range = -0.5 / 0.04;
      const clamp = (v, most) => (v < 0 ? 0 : v > most ? most : v);
      for (let y = 0; y < HEIGHT; y++) {
        for (let x = 0; x < WIDTH; x++) {
          const p = (y * WIDTH + x) * 3;
          let total = 0,
            r = 0,
            g = 0,
            b = 0;
          for (let dy = -6; dy <= 6; dy++) {
            const row = clamp(y + dy, HEIGHT - 1) * WIDTH;
            const half = Math.floor(Math.sqrt(36 - dy * dy));
            for (let dx = -half; dx <= half; dx++) {
              const q = (row + clamp(x + dx, WIDTH - 1)) * 3;
              const d0 = src[q] - src[p],
                d1 = src[q + 1] - src[p + 1],
                d2 = src[q + 2] - src[p + 2];
              const w = Math.exp((d0 * d0 + d1 * d1 + d2 * d2) * range + (dx * dx + dy * dy) * space);
              total += w;
              r += w * src[q];
              g += w * src[q + 1];
              b += w * src[q + 2];
            }
          }
          out[p] = r / total;
          out[p + 1] = g / total;
          out[p + 2] = b / total;
        }
      }
      return out;
    },
  },
];

const ROUNDS = 9,
  LEAST_ROUNDS = 3,
  ENOUGH = 600; // milliseconds for each runner

// { rows: [{ runner, ms, worst, right }] }: the median time of each runner, "js" among them, and how far
// its result is from that of JavaScript. programs: the texts of Atlas programs by name.
export async function measure(id, runtimes, programs) {
  const { inputs, ours, peer, within } = WORKLOADS.find((w) => w.id === id);
  const arrays = Object.fromEntries(Object.entries(inputs).map(([name, [data]]) => [name, data]));
  const expected = peer(arrays);
  const runners = [{ runner: 'js', run: async () => peer(arrays), worst: 0, right: true, times: [] }];
  for (const [backend, hg] of Object.entries(runtimes)) {
    const tensors = {};
    for (const [name, [data, shape]] of Object.entries(inputs)) tensors[name] = hg.tensor(data, { shape });
    const program = ours.program ? await hg.program(programs[ours.program]) : undefined;
    const run = async () => {
      const result = program
        ? Object.values(await program.run({ ...tensors, ...ours.values }))[0]
        : await hg.eval(ours, tensors);
      const data = await result.data();
      result.dispose();
      return data;
    };
    // The first run also compiles; it is the one that is looked at.
    const data = await run();
    let worst = 0;
    for (let i = 0; i < expected.length; i++) {
      const difference = Math.abs(data[i] - expected[i]);
      if (!(difference <= worst)) worst = difference;
    }
    const done = () => Object.values(tensors).forEach((t) => t.dispose());
    runners.push({
      runner: backend,
      run,
      worst,
      right: data.length === expected.length && worst <= within,
      times: [],
      done,
    });
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const one of runners) {
      const spent = one.times.reduce((a, b) => a + b, 0);
      if (!one.right || spent > 4 * ENOUGH || (round >= LEAST_ROUNDS && spent > ENOUGH)) continue;
      const began = performance.now();
      await one.run();
      one.times.push(performance.now() - began);
    }
  }
  return runners.map(({ runner, worst, right, times, done }) => {
    done?.();
    times.sort((a, b) => a - b);
    return { runner, worst, right, ms: right ? times[times.length >> 1] : undefined };
  });
}
