import { curlSteps, proofSteps } from './curl.ts';
import { javascript } from './javascript.ts';
import { python } from './python.ts';
import { requestsOf } from './requests.ts';
import type { ConnectedApp } from './requests.ts';
import type { ExampleStep } from './steps.ts';

/** How to get a token and make a first call, in one language. */
export interface Example {
  readonly language: 'curl' | 'JavaScript' | 'Python';
  readonly steps: readonly ExampleStep[];
}

/** How to get a token and make a first call as this app: with curl, in JavaScript and in Python. */
export function firstCall(app: ConnectedApp): readonly Example[] {
  const requests = requestsOf(app);
  // A program has the credential from its environment, and so in none of its files.
  const proof = proofSteps(app.proof);
  return [
    { language: 'curl', steps: [...proof, ...curlSteps(requests)] },
    { language: 'JavaScript', steps: [...proof, { about: 'javascript', code: javascript(requests) }] },
    { language: 'Python', steps: [...proof, { about: 'python', code: python(requests) }] },
  ];
}
