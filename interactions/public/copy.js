// Adds a copy button to each field and block of code with `data-copy`, and selects the text of a field on focus and click. Without this
// script, they are ordinary read-only fields and blocks.
for (const source of document.querySelectorAll('[data-copy]')) {
  if (source instanceof HTMLInputElement) {
    source.addEventListener('focus', () => source.select());
    source.addEventListener('click', () => source.select());
    if (document.activeElement === source) source.select();
  }
  const button = document.createElement('button');
  button.type = 'button';
  button.id = `${source.id}-copy`;
  button.textContent = source.dataset.copy;
  button.setAttribute('aria-labelledby', `${button.id} ${source.id}-label`);
  const status = document.createElement('span');
  status.className = 'copied';
  status.setAttribute('role', 'status');
  button.addEventListener('click', () => void copy(source, status));
  source.after(button, status);
}

async function copy(source, status) {
  try {
    await navigator.clipboard.writeText(source.value ?? source.textContent);
  } catch {
    // Browsers have no clipboard API on plain http, and a user can forbid its use.
    if (source instanceof HTMLInputElement) source.select();
    else getSelection().selectAllChildren(source);
    document.execCommand('copy');
  }
  status.textContent = source.dataset.copied;
}
