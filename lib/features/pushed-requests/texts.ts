export const en = {
  'pushedRequests.url': 'Pushed authorization request URL',
  'kind.authorization_code.step.assertion':
    'The app authenticates twice, and each assertion is used once. This line asks for another one.',
  'error.invalid_request_uri.heading': 'This request was answered or has expired',
  'error.invalid_request_uri.lead': 'Go back to the app, and start again there.',
} as const;

export type PushedRequestText = keyof typeof en;

export const de: Readonly<Record<PushedRequestText, string>> = {
  'pushedRequests.url': 'URL für vorab gesendete Autorisierungsanfragen',
  'kind.authorization_code.step.assertion':
    'Die App authentifiziert sich zweimal, und jede Assertion gilt einmal. Diese Zeile fragt nach einer weiteren.',
  'error.invalid_request_uri.heading': 'Diese Anfrage wurde schon beantwortet oder ist abgelaufen',
  'error.invalid_request_uri.lead': 'Gehen Sie zurück zur App und beginnen Sie dort neu.',
};
