// Small helpers of the page.
export const $ = (id) => document.getElementById(id);

// element('p', { className: 'hint' }, 'text', other): properties, then children.
export function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// An error of hologram: what is wrong, with the place if the message shows it, and what to do.
export function showError(box, error) {
  box.hidden = error === undefined;
  if (error === undefined) return box.replaceChildren();
  const [first, ...rest] = error.message.trimEnd().split('\n');
  // "expression:1:5: 'b' has no value": the place is said in words.
  const where = /^[^:\s]+:(\d+):(\d+): /.exec(first);
  const text = where ? `Line ${where[1]}, column ${where[2]}: ${first.slice(where[0].length)}` : first;
  box.replaceChildren(element('b', {}, capital(text)));
  if (rest.length > 0) box.append(element('pre', {}, rest.join('\n')));
  if (error.remedy) box.append(element('p', {}, error.remedy));
}
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// Draws what a worker sent.
export function draw(canvas, bitmap) {
  canvas.width = bitmap.width;
  canvas.height = bitmap.height;
  canvas.getContext('2d').drawImage(bitmap, 0, 0);
  bitmap.close();
}

export const milliseconds = (ms) =>
  ms >= 10000
    ? `${(ms / 1000).toFixed(1)} s`
    : ms >= 1000
      ? `${(ms / 1000).toFixed(2)} s`
      : ms >= 100
        ? `${ms.toFixed(0)} ms`
        : ms >= 10
          ? `${ms.toFixed(1)} ms`
          : `${ms.toFixed(2)} ms`;

export const backendName = (backend) => ({ cpu: 'CPU', webgpu: 'WebGPU' })[backend] ?? backend;

export const later = (ms) => new Promise((done) => setTimeout(done, ms));

// Calls back once, when the element comes into view.
export function whenSeen(target, body) {
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((e) => e.isIntersecting)) return;
    watcher.disconnect();
    body();
  });
  watcher.observe(target);
}
