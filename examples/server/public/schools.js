// The API accepts the requests of this page by the login session of its user (createApiRouter({ session: true })), so there is no
// token here.
const notice = document.getElementById('notice');
const list = document.getElementById('schools');

async function rename(id, name) {
  const url = `/api/v1/actions/school/${encodeURIComponent(id)}/rename-school-action`;
  const headers = { 'content-type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify({ name }) });
}

function say(kind, ...content) {
  notice.className = `notice ${kind}`;
  notice.replaceChildren(...content);
  notice.hidden = false;
}

/** Says what went wrong, and where to sign in when nobody is signed in any more. */
function explain({ code, message }) {
  if (code !== 'login_required') return say('problem', message);
  const link = document.createElement('a');
  link.href = '/oauth/login?return_to=/schools';
  link.textContent = 'Sign in';
  return say('plain', link, ' to see the schools.');
}

function rowOf(school) {
  const row = document.createElement('li');
  row.innerHTML = '<form><input required><button class="button quiet">Rename</button></form>';
  const [form] = row.children;
  const [field, button] = form.children;
  show(school);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void save();
  });
  return row;

  async function save() {
    const response = await rename(school.id, field.value);
    const answer = await response.json();
    if (!response.ok) return explain(answer);
    show(answer.data);
    return say('success', `The school is called ${answer.data.name} now.`);
  }

  function show({ name }) {
    field.value = name;
    field.setAttribute('aria-label', `Name of ${name}`);
    button.setAttribute('aria-label', `Rename ${name}`);
  }
}

const response = await fetch('/api/v1/schools');
const answer = await response.json();
if (response.ok) list.replaceChildren(...answer.data.map(rowOf));
else explain(answer);
