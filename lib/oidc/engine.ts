import type { Provider } from 'oidc-provider';

/**
 * The engine of a server. It takes its signing keys once, so it is made anew when they change; requests under way keep the one
 * that they began with.
 */
export class Engine {
  #make: (() => Provider) | undefined;
  #provider: Provider | undefined;

  /** Makes the engine, when all that it refers to is there. */
  start(make: () => Provider): void {
    this.#make = make;
    this.#provider = make();
  }

  /** Makes it anew. */
  restart(): void {
    if (this.#make) this.#provider = this.#make();
  }

  /** The one for requests that begin now. A function, so that it can be handed on. */
  readonly provider = (): Provider => {
    if (!this.#provider) throw new Error('The engine was used before it was started');
    return this.#provider;
  };
}
