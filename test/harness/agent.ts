import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';

/** An agent as the SDK of the Model Context Protocol knows it: it keeps in memory what the SDK asks it to store. */
export class Agent implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  /** `undefined`: it is not registered. */
  registered: StoredOAuthClientInformation | undefined;
  stored: StoredOAuthTokens | undefined;
  /** Where the SDK has sent the user. */
  authorizationUrl: URL | undefined;
  #verifier = '';
  #discovered: OAuthDiscoveryState | undefined;

  /** @param given.url - of its metadata document */
  constructor(
    redirectUrl: string,
    given: {
      readonly metadata?: Partial<OAuthClientMetadata>;
      readonly registered?: StoredOAuthClientInformation | undefined;
      readonly url?: string;
    } = {},
  ) {
    this.redirectUrl = redirectUrl;
    this.clientMetadata = { client_name: 'Agent', redirect_uris: [redirectUrl], ...given.metadata };
    this.registered = given.registered;
    if (given.url !== undefined) this.clientMetadataUrl = given.url;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.registered;
  }

  saveClientInformation(information: StoredOAuthClientInformation): void {
    this.registered = information;
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.stored;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.stored = tokens;
  }

  redirectToAuthorization(url: URL): void {
    this.authorizationUrl = url;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovered;
  }

  saveDiscoveryState(discovered: OAuthDiscoveryState): void {
    this.#discovered = discovered;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }
}
