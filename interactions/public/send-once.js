// Keeps a second click from sending a form again while the first is under way: the browser would show the answer to the
// second, which does not have the secret. The server makes nothing twice either way.
const sent = new WeakSet();
document.addEventListener('submit', (event) => {
  if (sent.has(event.target)) event.preventDefault();
  sent.add(event.target);
});
// The page may come back as it was left.
addEventListener('pageshow', () => {
  for (const form of document.forms) sent.delete(form);
});
