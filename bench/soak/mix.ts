import { authorize, disconnectApp, leave } from './browser-requests.ts';
import { REVOCATION_LAG, userId } from './platform.ts';
import {
  asAdministrator,
  callApi,
  callApiEverywhere,
  clientCredentials,
  exchange,
  exchangeOnce,
  refresh,
  refreshAgain,
  refreshTwice,
  revokeAccessToken,
  revokeRefreshToken,
} from './token-requests.ts';
import type { Code } from './token-requests.ts';
import type { Browser, Connection, RegisteredClient, World } from './world.ts';

// In milliseconds: when every node must know of a revocation, with a margin for the difference of clocks.
const LATEST = REVOCATION_LAG * 1000 + 250;

const MOST_ACTIVE = 100;

interface Work {
  /** How often it is chosen, of the sum of all. */
  readonly share: number;
  readonly run: (world: World) => Promise<void>;
}

/**
 * The mix of a platform: apps call the API most of the time and refresh now and then; a login is rarer than an authorization,
 * because a browser stays logged in. Endings are more frequent than anywhere else, so that they meet everything.
 */
const MIX: readonly Work[] = [
  { share: 6900, run: useApi },
  { share: 1500, run: refreshSome },
  { share: 700, run: clientCredentials },
  { share: 300, run: async (world) => connectApp(world) },
  { share: 25, run: logInAgain },
  { share: 30, run: revokeServiceToken },
  { share: 30, run: async (world) => endOne(world, revokeUserToken) },
  { share: 25, run: async (world) => endOne(world, revokeRefreshToken) },
  { share: 15, run: async (world) => endOne(world, revokeGrant) },
  { share: 20, run: async (world) => endOne(world, disconnect) },
  { share: 6, run: async (world) => endOne(world, revokeUser) },
  { share: 2, run: async (world) => endOne(world, revokeApp) },
  { share: 1, run: revokeService },
  { share: 1, run: async (world) => asAdministrator(world, { kind: 'rotate keys' }, 'rotate-keys') },
  { share: 3, run: async (world) => asAdministrator(world, { kind: 'prune' }, 'prune') },
];

const SUM = MIX.reduce((sum, { share }) => sum + share, 0);

/** Chooses by the shares, and does it. */
export async function runSome(world: World): Promise<void> {
  let rest = world.random.below(SUM);
  const work = MIX.find(({ share }) => {
    rest -= share;
    return rest < 0;
  });
  await work!.run(world);
}

/** Most requests are of a few apps and users, whose tokens the nodes have verified already. */
async function onConnection(
  world: World,
  run: (world: World, connection: Connection) => Promise<void>,
): Promise<void> {
  const { connections, random } = world;
  const active = random.isOnceIn(4) ? connections.length : Math.min(connections.length, MOST_ACTIVE);
  await (active > 0 ? run(world, connections[random.below(active)]!) : connectApp(world));
}

async function useApi(world: World): Promise<void> {
  const { due, ended, random, serviceTokens } = world;
  const chance = random.below(100);
  if (due.length > 0 && due[0]!.at <= performance.now()) {
    await callApiEverywhere(world, due.shift()!.token);
  } else if (chance < 3 && ended.length > 0) {
    await callApi(world, random.pick(ended).access);
  } else if (chance < 15 && serviceTokens.length > 0) {
    await callApi(world, random.pick(serviceTokens));
  } else {
    await onConnection(world, async (_, connection) => {
      // A client whose access token is refused refreshes.
      if ((await callApi(world, connection.access)) === 401) await refresh(world, connection);
    });
  }
}

async function refreshSome(world: World): Promise<void> {
  const { ended, random } = world;
  const chance = random.below(1000);
  if (chance < 20 && ended.length > 0) {
    const connection = random.pick(ended);
    await refreshAgain(world, connection, connection.refresh);
    return;
  }
  await onConnection(world, async (_, connection) => {
    const [latest, earlier] = connection.spent;
    if (chance < 60) await refreshTwice(world, connection);
    // Its answer was lost; within the grace it is repeated.
    else if (chance < 80 && latest) await refreshAgain(world, connection, latest);
    // Another process of the client has it, or a thief.
    else if (chance < 86 && earlier) await refreshAgain(world, connection, earlier);
    else await refresh(world, connection);
  });
}

async function connectApp(world: World, prepare?: (browser: Browser) => void): Promise<void> {
  const { apps, browsers, random } = world;
  const browser = random.pick(browsers);
  // A person does one thing at a time.
  if (browser.isBusy) return;
  browser.isBusy = true;
  prepare?.(browser);
  const code = await authorize(world, browser, random.pick(apps));
  browser.isBusy = false;
  if (code) await redeem(world, code);
}

async function redeem(world: World, code: Code): Promise<void> {
  const chance = world.random.below(100);
  // The app has forgotten it.
  if (chance < 2) return;
  if (chance < 5) {
    await Promise.all([exchange(world, code), exchangeOnce(world, code)]);
    return;
  }
  const connection = await exchange(world, code);
  if (chance >= 7 || !connection) return;
  // Presented again, which revokes what it was exchanged for.
  const { status } = await exchangeOnce(world, code);
  if (status === 400) world.disconnect(connection);
}

/** In a new window. */
async function logInAgain(world: World): Promise<void> {
  await connectApp(world, leave);
}

async function revokeServiceToken(world: World): Promise<void> {
  const { random, serviceTokens } = world;
  if (serviceTokens.length === 0) return;
  const token = random.pick(serviceTokens);
  await revokeAccessToken(world, token, token.service);
}

/** Ends tokens that every node has just verified, and uses one of them at every node: at once, and when all must know. */
async function endOne(
  world: World,
  end: (world: World, connection: Connection) => Promise<void>,
): Promise<void> {
  await onConnection(world, async (_, connection) => {
    const { access } = connection;
    await callApiEverywhere(world, access);
    await end(world, connection);
    await callApiEverywhere(world, access);
    world.due.push({ at: performance.now() + LATEST, token: access });
  });
}

async function revokeUserToken(world: World, { access, app }: Connection): Promise<void> {
  await revokeAccessToken(world, access, app);
}

async function revokeGrant(world: World, connection: Connection): Promise<void> {
  const { code, grant } = connection;
  await asAdministrator(world, { kind: 'revoke grant', code }, 'revoke', { grantId: grant });
  world.disconnect(connection);
}

async function disconnect(world: World, { app, user }: Connection): Promise<void> {
  const browser = world.browsers[user]!;
  if (browser.isBusy) return;
  browser.isBusy = true;
  await disconnectApp(world, browser, app);
  browser.isBusy = false;
}

async function revokeUser(world: World, { user }: Connection): Promise<void> {
  await asAdministrator(world, { kind: 'revoke user', user }, 'revoke', { userId: userId(user) });
}

async function revokeApp(world: World, { app }: Connection): Promise<void> {
  await revokeClient(world, app);
}

async function revokeService(world: World): Promise<void> {
  await revokeClient(world, world.random.pick(world.services));
}

async function revokeClient(world: World, { id, number }: RegisteredClient): Promise<void> {
  await asAdministrator(world, { kind: 'revoke client', client: number }, 'revoke', { clientId: id });
}
