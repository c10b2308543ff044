/** The option `openid` of tests, because a key of RSA takes longer to be made. */
export const OPENID: { readonly algorithm: 'ES256' } = { algorithm: 'ES256' };
