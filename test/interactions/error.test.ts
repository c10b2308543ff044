import test from 'ava';
import { fakeFlow } from './fake-flow.ts';
import { servePages } from './serve-pages.ts';

test('the page says what happened and what to do, and shows the developer’s details below', async (t) => {
  const site = await servePages(t, fakeFlow());
  const page = await site.fail({
    status: 400,
    error: 'invalid_redirect_uri',
    description: "redirect_uri did not match any of the client's registered redirect_uris",
    reference: 'r-1',
  });
  t.is(page.status, 400);
  t.true(page.html.includes('<title>This link does not lead back to the app · Acme</title>'));
  t.true(page.text.includes('tell its developer.'));
  t.true(page.text.includes('Error invalid_redirect_uri'));
  t.true(page.text.includes('Details redirect_uri did not match any of the client&#39;s registered'));
  t.true(page.text.includes('Reference r-1'));
  t.is(page.headers.get('cache-control'), 'no-store');
  t.regex(page.headers.get('content-security-policy') ?? '', /form-action 'self'/);
});

test('each registered error code has its own text', async (t) => {
  const site = await servePages(t, fakeFlow());
  const headings = new Set<string | undefined>();
  const codes = [
    'access_denied',
    'interaction_expired',
    'invalid_client',
    'invalid_redirect_uri',
    'invalid_request',
    'invalid_scope',
    'server_error',
    'temporarily_unavailable',
    'unauthorized_client',
    'unsupported_response_type',
  ];
  for (const error of codes) {
    const page = await site.fail({ status: 400, error, description: '', reference: '' });
    headings.add(/<h1>(.+)<\/h1>/.exec(page.html)?.[1]);
  }
  t.is(headings.size, codes.length);
  t.false(headings.has('That did not work'));
});

test('an unknown code has a text by its status, and empty details are omitted', async (t) => {
  const site = await servePages(t, fakeFlow());
  for (const error of ['invalid_target', 'constructor', '__proto__', '<script>']) {
    const serverError = await site.fail({ status: 500, error, description: '', reference: '' });
    t.is(serverError.status, 500);
    t.true(serverError.text.includes('Something went wrong on our side'));
    const clientError = await site.fail({ status: 400, error, description: '', reference: '' });
    t.true(clientError.text.includes('That did not work'));
    t.false(clientError.text.includes('Reference'));
    t.false(clientError.html.includes('<script'));
  }
});

test('the description is escaped', async (t) => {
  const site = await servePages(t, fakeFlow());
  const page = await site.fail({
    status: 400,
    error: 'invalid_request',
    description: '<img src=x onerror=alert(1)>',
    reference: '"><b>',
  });
  t.true(page.html.includes('<dd>&lt;img src=x onerror=alert(1)&gt;</dd>'));
  t.true(page.html.includes('<dd>&#34;&gt;&lt;b&gt;</dd>'));
});
