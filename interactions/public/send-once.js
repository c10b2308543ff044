// Prevents a second click from sending a form again while the first request is running: the browser would show the second
// response, which does not contain the secret. The server does not process the form twice in either case.
const sent = new WeakSet();
document.addEventListener('submit', (event) => {
  if (sent.has(event.target)) event.preventDefault();
  sent.add(event.target);
});
// After "back", the browser may restore the page with this state (bfcache); the form can then be sent again.
addEventListener('pageshow', () => {
  for (const form of document.forms) sent.delete(form);
});
