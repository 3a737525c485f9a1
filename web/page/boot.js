// Says what is missing where modules do not load at all.
addEventListener('DOMContentLoaded', () => {
  const boot = document.getElementById('boot');
  if (location.protocol === 'file:')
    boot.textContent =
      'This page needs a web server, as browsers load no modules from files. ' +
      'In its folder run “python3 -m http.server”, then open port 8000 of this machine.';
});
