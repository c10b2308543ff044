// @ts-expect-error It has no types.
import { urlencoded } from 'oidc-provider/lib/shared/selective_body.js';

type ReadBody = (ctx: object, next: () => Promise<void>) => Promise<void>;

const READ = {
  method: 'POST',
  is: () => true,
  req: { readable: false, body: '' },
  request: {},
  oidc: {},
};

let isSilenced = false;

/**
 * Discards the engine's warning about a body that was read before it, which it prints once in a process and has no option for: its reader
 * prints it here, for a request that nobody has sent. The reader gets there without waiting, so that nothing else is discarded.
 */
export function silenceBodyWarning(): void {
  if (isSilenced) return;
  isSilenced = true;
  const { warn } = console;
  console.warn = () => {};
  try {
    void (urlencoded as ReadBody)(READ, async () => {});
  } finally {
    console.warn = warn;
  }
}
