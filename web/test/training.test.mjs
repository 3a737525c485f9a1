// node --test web/test/training.test.mjs: gradients and training with build-web/package, in Node.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

const folder = new URL('../../build-web/package/', import.meta.url);
const { Hologram } = await import(new URL('hologram.js', folder));

let hg;
before(async () => { hg = await Hologram.create({ backend: 'cpu', threads: 1 }); });
after(() => hg.dispose());

test('values and gradients', async () => {
  const x = hg.tensor([1, 2, 3]), y = hg.tensor([4, 5, 6]);
  const { value, gradients } = hg.valueAndGradient((a, b) => a.mul(b).sum(), [x, y]);
  assert.equal(await value.item(), 32);
  assert.deepEqual(await Promise.all(gradients.map((g) => g.array())), [[4, 5, 6], [1, 2, 3]]);
  // Expressions, tensors that are constants, and a gradient of a gradient.
  const slope = (t) => hg.valueAndGradient((a) => hg.eval('sum(a * a * a * y)', { a, y }), [t]).gradients[0];
  assert.deepEqual(await slope(x).array(), [12, 60, 162]);
  const { gradients: [second] } = hg.valueAndGradient((a) => slope(a).sum(), [x]);
  assert.deepEqual(await second.array(), [24, 60, 108]);
});

test('what a function throws comes out, and nothing is left behind', async () => {
  const x = hg.tensor([1, 2]);
  assert.throws(() => hg.valueAndGradient(() => { throw new RangeError('mine'); }, [x]), /mine/);
  assert.throws(() => hg.valueAndGradient((a) => a, [x]), (e) => e.kind === 'ShapeMismatch');
  assert.throws(() => hg.valueAndGradient(() => 3, [x]), /gives a tensor/);
  assert.throws(() => hg.valueAndGradient((a) => hg.eval('a @ b', { a }), [x]), (e) => /b/.test(e.message));
  assert.throws(() => hg.adam([x], { rate: 1 }).step([x]), /rate.*learningRate/);
  const { gradients: [g] } = hg.valueAndGradient((a) => a.mul(a).sum(), [x]);
  assert.deepEqual(await g.array(), [2, 4]);
});

// Two layers on drawn points, whose classes are the signs of their first two numbers. The losses are those
// of the same program in C++ on the CPU, to the bit.
const LOSSES = [
  0x3fb03629, 0x3fa9b68c, 0x3fa384de, 0x3f9d0bf0, 0x3f963c3a, 0x3f8f3574, 0x3f87eba6, 0x3f806064,
  0x3f7122fd, 0x3f6131a4, 0x3f5135c1, 0x3f416dec, 0x3f31e0d2, 0x3f22f836, 0x3f14aa8e, 0x3f072d36,
  0x3ef4e5ea, 0x3edcd6f0, 0x3ec662f1, 0x3eb1a427, 0x3e9e60ab, 0x3e8c93a9, 0x3e78541d, 0x3e5abf4c,
  0x3e3fed42, 0x3e275974, 0x3e12135e, 0x3dfefff0, 0x3dde6359, 0x3dc198e1,
];
test('a network of two layers learns, with the losses of C++', async () => {
  let state = 1;
  const drawn = (spread, ...shape) => {
    const values = Float32Array.from({ length: shape.reduce((a, b) => a * b) }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.fround(spread) * (state / 2 ** 31 - 1);
    });
    return { values, tensor: hg.tensor(values, { shape }) };
  };
  const { values, tensor: x } = drawn(1, 64, 20);
  const classes = hg.tensor(BigInt64Array.from({ length: 64 }, (_, i) =>
    BigInt(Number(values[20 * i] > 0) + 2 * Number(values[20 * i + 1] > 0))));
  const parameters = [[0.2, 16, 20], [0.2, 16], [0.25, 4, 16], [0.25, 4]].map((p) => drawn(...p).tensor);
  const adam = hg.adam(parameters, { learningRate: 0.02 });
  const losses = [];
  for (let i = 0; i < LOSSES.length; i++) {
    const { value, gradients } = hg.valueAndGradient((w1, b1, w2, b2) =>
      hg.nn.crossEntropy(hg.nn.linear(hg.nn.linear(x, w1, b1).relu(), w2, b2), classes), adam.parameters);
    adam.step(gradients);
    losses.push((await value.data())[0]);
  }
  assert.deepEqual([...new Uint32Array(Float32Array.from(losses).buffer)], LOSSES);
  assert.ok(losses.at(-1) < losses[0] / 10);
});
