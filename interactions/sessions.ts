import type { SessionsPage, LoggedOutPage } from '../lib/contracts/index.ts';
import type { PageRequest } from './page-request.ts';
import { sentence } from './sentence.ts';
import { placeOf } from './user-agent.ts';
import { describeViewer } from './viewer.ts';

/** Shows the browsers in which a user is logged in. */
export async function showSessions(
  request: PageRequest,
  { current, done, moreSessions, path, sessions, user }: Exclude<SessionsPage, LoggedOutPage>,
): Promise<void> {
  const { brand, clock, count, show, text } = request;
  show({
    view: 'sessions/list',
    wide: true,
    viewer: await describeViewer(request, user),
    heading: sentence(text['sessions.heading']),
    lead: [
      ...(moreSessions
        ? sentence(text['sessions.leadMany'], { brand, count: String(sessions.length) })
        : count('sessions.lead', sessions.length, { brand })),
      ...sentence(' '),
      ...sentence(text['sessions.leadOfEnd']),
    ],
    done: done && sentence(text[DONE[done]]),
    sessions: sessions.map(({ createdAt, id, lastUsedAt, origin }) => ({
      place: placeOf(origin, text),
      current: id === current,
      since: clock.minute(createdAt),
      lastUsed: clock.minute(lastUsedAt),
      end: `${path}/${encodeURIComponent(id)}/end`,
    })),
    endOthers: sessions.length > 1 ? `${path}/end-others` : undefined,
  });
}

const DONE = { ended: 'sessions.done.ended', ended_others: 'sessions.done.endedOthers' } as const;
