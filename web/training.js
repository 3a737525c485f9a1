// Gradients of functions of JavaScript, and steps of an optimizer.

import { invalid } from './error.js';
import { Tensor } from './tensor.js';

const handlesOf = (tensors) => tensors.map((t) => {
  if (!(t instanceof Tensor)) throw invalid('What is trained and its gradients are tensors.');
  return t.handle;
});

export class Training {
  #runtime;
  #functions = [];  // that are differentiated, one within the other
  #thrown = [];     // what they threw

  constructor(runtime) {
    this.#runtime = runtime;
    const call = (name) => (...inputs) => new Tensor(runtime, runtime._ask('hg_nn', { function: name, inputs: handlesOf(inputs) }));
    this.functions = Object.freeze({ linear: call('linear'), crossEntropy: call('cross_entropy'), mse: call('mse_loss') });
  }

  valueAndGradient(function_, tensors) {
    this.#functions.push(function_);
    try {
      const { value, gradients } = this.#runtime._ask('hg_value_and_gradient', { inputs: handlesOf(tensors) });
      return { value: new Tensor(this.#runtime, value), gradients: gradients.map((g) => new Tensor(this.#runtime, g)) };
    } catch (error) {
      throw this.#thrown.length > 0 ? this.#thrown.pop() : error;
    } finally {
      this.#functions.pop();
    }
  }

  // What the module calls in the midst of that: the handle of the value, or 0.
  apply() {
    try {
      const inputs = this.#runtime._told().map((t) => new Tensor(this.#runtime, t));
      const value = this.#functions.at(-1)(...inputs);
      if (!(value instanceof Tensor)) throw invalid('A function that is differentiated gives a tensor, at once.');
      return value.handle;
    } catch (error) {
      this.#thrown.push(error);
      return 0;
    }
  }
}

export class Adam {
  #runtime;
  #state = null;

  // learningRate, beta1, beta2, epsilon, weightDecay; decoupled, for AdamW.
  constructor(runtime, parameters, options = {}) {
    this.#runtime = runtime;
    this.parameters = parameters;
    this.options = options;
  }

  step(gradients) {
    const state = this.#state && { means: handlesOf(this.#state.means), squares: handlesOf(this.#state.squares), step: this.#state.step.handle };
    const next = this.#runtime._ask('hg_adam', { parameters: handlesOf(this.parameters), gradients: handlesOf(gradients), state, options: this.options });
    const made = (tensor) => new Tensor(this.#runtime, tensor);
    this.parameters = next.parameters.map(made);
    this.#state = { means: next.state.means.map(made), squares: next.state.squares.map(made), step: made(next.state.step) };
    return this.parameters;
  }
}
