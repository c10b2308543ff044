// Puts a button beside each field that is there to be copied, and selects its text at a touch. Without this script they
// are read-only fields like any other.
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
    // On plain http there is no clipboard, and a person may have forbidden it.
    field.select();
    document.execCommand('copy');
  }
  status.textContent = field.dataset.copied;
}
