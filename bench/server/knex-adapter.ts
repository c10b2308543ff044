import type { Knex } from 'knex';
import type { Adapter, AdapterPayload } from 'oidc-provider';

const TABLE = 'oidc_models';

interface Row {
  readonly payload: string;
  readonly consumed_at: number | null;
  readonly expires_at: number | null;
}

export async function createTable({ schema }: Knex): Promise<void> {
  await schema.createTable(TABLE, (table) => {
    table.string('model');
    table.string('id');
    table.text('payload').notNullable();
    table.string('grant_id').index();
    table.string('user_code').index();
    table.string('uid').index();
    table.integer('expires_at');
    table.integer('consumed_at');
    table.primary(['model', 'id']);
  });
}

/** A straightforward adapter, as in many projects: one table for all models, with a query for each method. */
export class KnexAdapter implements Adapter {
  readonly #knex: Knex;
  readonly #model: string;

  constructor(knex: Knex, model: string) {
    this.#knex = knex;
    this.#model = model;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const row = {
      model: this.#model,
      id,
      payload: JSON.stringify(payload),
      grant_id: payload.grantId ?? null,
      user_code: payload.userCode ?? null,
      uid: payload.uid ?? null,
      expires_at: expiresIn ? now() + expiresIn : null,
    };
    await this.#knex(TABLE).insert(row).onConflict(['model', 'id']).merge();
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#find({ id });
  }

  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#find({ uid });
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#find({ user_code: userCode });
  }

  async consume(id: string): Promise<void> {
    await this.#knex(TABLE).where({ model: this.#model, id }).update({ consumed_at: now() });
  }

  async destroy(id: string): Promise<void> {
    await this.#knex(TABLE).where({ model: this.#model, id }).del();
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    await this.#knex(TABLE).where({ model: this.#model, grant_id: grantId }).del();
  }

  async #find(where: Readonly<Record<string, string>>): Promise<AdapterPayload | undefined> {
    const rows: Row[] = await this.#knex(TABLE)
      .where({ model: this.#model, ...where })
      .limit(1);
    const [row] = rows;
    if (!row || (row.expires_at !== null && row.expires_at <= now())) return undefined;
    const payload = JSON.parse(row.payload) as AdapterPayload;
    return row.consumed_at === null ? payload : { ...payload, consumed: row.consumed_at };
  }
}

/** In seconds. */
function now(): number {
  return Math.floor(Date.now() / 1000);
}
