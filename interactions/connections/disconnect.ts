import { seeOther } from '../see-other.ts';
import { sentence } from '../sentence.ts';
import { describeViewer } from '../viewer.ts';
import type { Visit } from './visit.ts';

/** Asks whether an app is really to lose its access. One that is not connected leads back to the list. */
export async function askToDisconnect({ ctx, home, site, user }: Visit): Promise<void> {
  const { flow, show, text } = site;
  const id = idOf(ctx);
  const connected = await flow.connections(ctx, user).list();
  const connection = connected.find(({ client }) => client.id === id);
  if (!connection) return seeOther(ctx, home);
  return show(ctx, {
    view: 'confirm',
    viewer: await describeViewer(ctx, user, site),
    heading: sentence(text['connections.disconnectHeading'], { client: connection.client.name }),
    lead: sentence(text['connections.disconnectLead']),
    action: `${home}/${encodeURIComponent(id)}/disconnect`,
    button: text['connections.disconnect'],
    cancel: { href: home, label: text['page.cancel'] },
  });
}

/** Takes the access away. What is gone already, from another tab or by a second click, is as good. */
export async function disconnect({ ctx, home, site, user }: Visit): Promise<void> {
  await site.flow.connections(ctx, user).disconnect(idOf(ctx));
  seeOther(ctx, `${home}?done=disconnected`);
}

function idOf(ctx: Visit['ctx']): string {
  return (ctx['params'] as Record<string, string>)['id'] ?? '';
}
