import type { Adapter, AdapterPayload } from 'oidc-provider';

const MOST_ROWS = 100_000;

/** A simple correct adapter in memory, with the minimum cost of an adapter. */
export class MapAdapter implements Adapter {
  readonly #rows = new Map<string, { payload: AdapterPayload; until: number }>();

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    add(this.#rows, id, { payload, until: expiresIn ? Date.now() + expiresIn * 1000 : Infinity });
    if (payload.uid) add(idsByUid, payload.uid, id);
    if (payload.grantId) {
      const ofGrant = membersOfGrants.get(payload.grantId) ?? new Map<string, MapAdapter>();
      add(membersOfGrants, payload.grantId, ofGrant.set(id, this));
    }
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    const row = this.#rows.get(id);
    return row && row.until > Date.now() ? row.payload : undefined;
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.find(idsByUid.get(uid) ?? '');
  }

  async findByUserCode(): Promise<undefined> {}

  async consume(id: string): Promise<void> {
    const row = this.#rows.get(id);
    if (row) row.payload.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id: string): Promise<void> {
    this.#rows.delete(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const [id, adapter] of membersOfGrants.get(grantId) ?? []) await adapter.destroy(id);
    membersOfGrants.delete(grantId);
  }
}

const idsByUid = new Map<string, string>();
const membersOfGrants = new Map<string, Map<string, MapAdapter>>();

function add<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_ROWS && oldest !== undefined) map.delete(oldest);
}
