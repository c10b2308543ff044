/** What other modules build on of oidc-provider: its errors, which are answered as OAuth errors, and its classes. */
export { errors, ExternalSigningKey, interactionPolicy } from 'oidc-provider';
