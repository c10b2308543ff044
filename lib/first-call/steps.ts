/** What each step of an example is for, in English. The pages have them in their other languages too. */
export const STEPS = {
  secret: 'This line asks for the secret of the app, and puts it into the environment.',
  assertion: 'This line asks for an assertion that the app has signed, and puts it into the environment.',
  token: 'Get a token.',
  authorize:
    'Make the address at which a person authorizes the app, and open it in a browser. Afterwards the browser is sent to the redirect URI: copy that whole address, which the last line asks for.',
  code: 'Exchange the code in it for tokens.',
  device:
    'Begin. Open the address verification_uri_complete of the answer in a browser, sign in, and connect the device.',
  poll: 'Then get the tokens. With authorization_pending nobody has answered yet: send this again.',
  call: 'Call the API: it says who the token speaks for.',
  javascript: 'Save this as first-call.mjs, and run it with node first-call.mjs.',
  python: 'Save this as first_call.py, and run it with python3 first_call.py.',
} as const;

export type StepName = keyof typeof STEPS;

/** A step of an example: lines to copy, as they are. */
export interface ExampleStep {
  readonly about: StepName;
  readonly code: string;
}
