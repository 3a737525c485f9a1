// A worker that computes, seen from the page: asked, answered, and stopped at once if need be, as it may
// be in the midst of a long loop.

export class Engine {
  #worker;
  #start;
  #pending = new Map();
  #next = 0;

  // start: what the worker is told first: the compiled module, the program of the first picture.
  constructor(start) {
    this.#start = start;
    this.#begin();
  }

  #begin() {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    this.#worker.addEventListener('message', ({ data: { id, value, error, step } }) => {
      const { done, fail, onStep } = this.#pending.get(id) ?? {};
      if (step !== undefined) return onStep?.(step);
      this.#pending.delete(id);
      if (error) fail?.(error);
      else done?.(value);
    });
    this.#worker.addEventListener('error', (event) =>
      this.#failAll({
        kind: 'Internal',
        message: event.message || 'The worker of this page could not be started.',
        remedy: 'Load the page again. It needs a browser of 2023 or later.',
      }),
    );
    this.ask('start', this.#start).catch(() => {});
  }

  // What the worker answers to one of its tasks; fails with { kind, message, remedy }. onStep gets what
  // it tells before.
  ask(what, given = {}, onStep) {
    const id = ++this.#next;
    return new Promise((done, fail) => {
      this.#pending.set(id, { done, fail, onStep });
      this.#worker.postMessage({ id, what, ...given });
    });
  }

  // Ends what is going on and begins anew; all that was asked fails as "Stopped".
  stop() {
    this.#worker.terminate();
    this.#failAll({ kind: 'Stopped', message: 'Stopped.', remedy: '' });
    this.#begin();
  }

  // What a new worker is told as well.
  remember(what) {
    this.#start = { ...this.#start, ...what };
  }

  end() {
    this.#worker.terminate();
    this.#failAll({ kind: 'Stopped', message: 'Stopped.', remedy: '' });
  }

  #failAll(error) {
    for (const { fail } of this.#pending.values()) fail(error);
    this.#pending.clear();
  }
}
