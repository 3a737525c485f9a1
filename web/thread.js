// A worker of a runtime with threads (threads.js): an instance of its module on the memory of all, with a
// stack of its own, which takes part in loops until there are to be none.

import { importsFor } from './imports.js';

addEventListener('message', ({ data: { module, memory, at, origin } }) => {
  const { exports } = new WebAssembly.Instance(module, importsFor(module, () => memory, {}, origin));
  exports.stackRestore(at);
  exports.__wasm_init_tls(at);
  postMessage('ready');
  try {
    exports.hg_work();
  } catch (error) {  // a trap, as C++ exceptions stay inside: whoever waits for this thread is told
    exports.stackRestore(at);
    exports.hg_work_failed();
    throw error;
  } finally {
    close();
  }
});
