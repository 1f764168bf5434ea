import { type Delivery, type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Credentials } from '@plinth/iam'
import type { Logger } from '@plinth/kernel'
import type { Mail } from '@plinth/mail'
import type { Site } from '@plinth/site'
import type { Static } from 'typebox'

const change = Type.Object({
  kind: Type.Enum(['linked', 'unlinked']),
  userId: Type.Integer({ minimum: 1 }),
  /** Name or address of the user at the provider. */
  label: Type.String(),
})
type IdentityChange = Static<typeof change>

/**
 * An identity was linked to a user, or its link was removed. Published in the transaction of the change with the key
 * `user:{userId}`, if the product has events.
 */
export const identityChanged = event('sign-in-oidc.identity-changed', change)

interface NoticeDependencies {
  readonly credentials: Pick<Credentials, 'find'>
  readonly mail: Mail
  readonly i18n: Pick<Translator, 'negotiate' | 'translate'>
  readonly site: Pick<Site, 'name'>
  readonly log: Logger
}

/** Tells the owner of an account by mail about each change of the linked identities (ASVS 6.3.7). */
export function mailNotices(events: Pick<Events, 'on'>, parts: NoticeDependencies): void {
  events.on(identityChanged, 'sign-in-oidc.notice', (delivery) => send(delivery, parts))
}

async function send(
  { id, payload: { kind, userId, label } }: Delivery<IdentityChange>,
  { credentials, mail, i18n, site, log }: NoticeDependencies,
): Promise<void> {
  const owner = await credentials.find(userId)
  if (owner === undefined) return
  if (!mail.isReady || owner.confirmedEmail === null) {
    log.warn({ kind, userId }, 'the owner of an account has no confirmed e-mail address, or no mail can be sent')
    return
  }
  const locale = i18n.negotiate(undefined)
  const params = { site: site.name, username: owner.username, label }
  const text = (part: string) => i18n.translate(locale, `messages.sign-in-oidc.mail.${kind}.${part}`, params) ?? ''
  const message = { to: [owner.confirmedEmail], subject: text('subject'), text: text('content'), locale }
  const { deliveries } = await mail.send(message, { idempotencyKey: `sign-in-oidc.notice:${id}` })
  const [delivery] = deliveries
  if (delivery?.outcome === 'deferred') throw new Error(delivery.errorMessage ?? 'the mail was deferred')
}
