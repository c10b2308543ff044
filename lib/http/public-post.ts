import type { Milliseconds } from '../contracts/duration.ts';
import { checkUrl, INTERNET, PublicFetchError, sendPublic } from './public-request.ts';
import type { Network } from './public-request.ts';

/**
 * Posts a form to a URL that a stranger chose, see {@link sendPublic}. Nothing of the body of the response is read.
 *
 * @throws PublicFetchError for everything that can go wrong, and for every status but 2xx
 */
export type PublicPost = (url: string, form: Readonly<Record<string, string>>) => Promise<void>;

/**
 * @param given - but for `loopback`, for tests
 */
export function createPublicPost(given: Partial<Network>, timeout: Milliseconds): PublicPost {
  const network = { ...INTERNET, ...given };

  return async function publicPost(url, form) {
    const body = new URLSearchParams(form).toString();
    const headers = {
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': String(Buffer.byteLength(body)),
    };
    await sendPublic(
      checkUrl(url, network),
      { body, headers },
      { network, timeout: network.timeout ?? timeout },
      ({ statusCode: status = 0 }) => {
        if (status >= 300 && status < 400) throw new PublicFetchError('redirect', { status });
        if (status < 200 || status > 299) throw new PublicFetchError('status', { status });
      },
    );
  };
}
