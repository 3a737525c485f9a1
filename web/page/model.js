// A language model that the visitor brings: a GGUF file is dropped or chosen, and chats or continues a
// text, token by token, in a worker of its own.
import { $, element, milliseconds, showError } from './dom.js';
import { Engine } from './engine.js';

const MOST_TOKENS = 512; // of an answer, which Stop ends earlier

export function startModel({ start, settings }) {
  const note = $('model-note'),
    said = $('model-said'),
    box = $('model-drop');
  let engine, file, model, messages, writing;

  const fail = (error) => {
    if (error.kind !== 'Stopped') showError($('model-error'), error);
  };

  async function open(chosen) {
    file = chosen;
    model = undefined;
    $('model-ask').hidden = true;
    showError($('model-error'));
    // What is under way, loading too, ends with its worker.
    engine?.end();
    const mine = (engine = new Engine(start));
    note.textContent = `Reading ${file.name}…`;
    const progress = ({ loaded, total }) => {
      note.textContent = `Reading ${file.name}, ${((100 * loaded) / total).toFixed(0)} %…`;
    };
    try {
      const made = await engine.ask('model', { backend: settings.backend, file }, progress);
      if (mine !== engine) return;
      model = made;
    } catch (error) {
      if (mine === engine) note.textContent = 'Drop a GGUF file here, or choose one.';
      return fail(error);
    }
    note.textContent =
      `${file.name}: ${model.architecture}, ${model.context} tokens of context, ` +
      `on ${settings.label(model.device)}, read in ${milliseconds(1000 * model.seconds)}.`;
    const mode = $('model-mode');
    mode.options[0].disabled = !model.chats;
    mode.value = model.chats ? 'chat' : 'text';
    begin();
    $('model-ask').hidden = false;
  }

  // A new conversation, or a new text.
  function begin() {
    messages = [];
    said.replaceChildren();
    $('model-speed').textContent = '';
    const chats = $('model-mode').value === 'chat';
    $('model-prompt').value = chats ? '' : 'Once upon a time';
    $('model-prompt-name').textContent = chats ? 'Your message' : 'A text to go on with';
    $('model-write').textContent = chats ? 'Send' : 'Go on';
  }

  function speak(who, text) {
    const paragraph = element('p', { className: who }, text);
    said.append(paragraph);
    paragraph.scrollIntoView({ block: 'nearest' });
    return paragraph;
  }

  async function write() {
    const text = $('model-prompt').value,
      chats = $('model-mode').value === 'chat';
    if (!model || writing || text.trim() === '') return;
    showError($('model-error'));
    writing = true;
    $('model-stop').hidden = false;
    if (chats) {
      messages.push({ role: 'user', content: text });
      speak('user', text);
      $('model-prompt').value = '';
    } else said.replaceChildren();
    const answer = speak('assistant', chats ? '' : text);
    const options = { maxTokens: MOST_TOKENS, greedy: $('model-greedy').checked, seed: Date.now() };
    try {
      const step = (more) => answer.append(more.text);
      const made = await engine.ask('write', { prompt: chats ? messages : text, options }, step);
      answer.dataset.tokens = made.tokens.join(' ');
      if (chats) messages.push({ role: 'assistant', content: made.text });
      else $('model-prompt').value = text + made.text;
      $('model-speed').textContent =
        `${made.tokens.length} tokens, ${made.tokensPerSecond.toFixed(1)} a second on ` +
        `${settings.label(model.device)}; the prompt of ${made.promptTokens} took ` +
        `${milliseconds(1000 * made.prefillSeconds)}.`;
    } catch (error) {
      if (chats) messages.pop();
      fail(error);
    }
    writing = false;
    $('model-stop').hidden = true;
  }

  $('model-file').addEventListener('change', () => $('model-file').files[0] && open($('model-file').files[0]));
  $('model-mode').addEventListener('change', begin);
  $('model-ask').addEventListener('submit', (event) => {
    event.preventDefault();
    write();
  });
  $('model-prompt').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey) return;
    event.preventDefault();
    write();
  });
  $('model-stop').addEventListener('click', () => engine.ask('enough'));
  box.addEventListener('dragover', () => box.classList.add('over'));
  box.addEventListener('dragleave', () => box.classList.remove('over'));
  box.addEventListener('drop', (event) => {
    box.classList.remove('over');
    if (event.dataTransfer.files[0]) open(event.dataTransfer.files[0]);
  });
  settings.listeners.push(() => {
    if (file) open(file);
  });
}
