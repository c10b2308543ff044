// Adds a copy button to each field with `data-copy`, and selects its text on focus and click. Without this script, they are
// ordinary read-only fields.
for (const field of document.querySelectorAll('[data-copy]')) {
  field.addEventListener('focus', () => field.select());
  field.addEventListener('click', () => field.select());
  if (document.activeElement === field) field.select();

  const button = document.createElement('button');
  button.type = 'button';
  button.id = `${field.id}-copy`;
  button.textContent = field.dataset.copy;
  button.setAttribute('aria-labelledby', `${button.id} ${field.id}-label`);
  const status = document.createElement('span');
  status.className = 'copied';
  status.setAttribute('role', 'status');
  button.addEventListener('click', () => void copy(field, status));
  field.after(button, status);
}

async function copy(field, status) {
  try {
    await navigator.clipboard.writeText(field.value);
  } catch {
    // Browsers have no clipboard API on plain http, and a user can forbid its use.
    field.select();
    document.execCommand('copy');
  }
  status.textContent = field.dataset.copied;
}
