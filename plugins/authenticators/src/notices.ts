import { type Delivery, type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import { type Credentials, secondFactorsReset } from '@plinth/iam'
import type { Logger } from '@plinth/kernel'
import type { Mail } from '@plinth/mail'
import type { Site } from '@plinth/site'
import type { Static } from 'typebox'

const change = Type.Object({
  kind: Type.Enum([
    'passkey-added',
    'passkey-removed',
    'passkey-suspected',
    'totp-added',
    'totp-removed',
    'totp-blocked',
    'recovery-codes-created',
    'recovery-code-used',
  ]),
  userId: Type.Integer({ minimum: 1 }),
  /** Name of the passkey. */
  name: Type.Optional(Type.String()),
  /** Number of remaining recovery codes. */
  left: Type.Optional(Type.Integer()),
})
export type FactorChange = Static<typeof change>

/**
 * The second factors of a user changed, or were attacked. Published in the transaction of the change with the key
 * `user:{userId}`.
 */
export const factorChanged = event('authenticators.factor-changed', change)

interface NoticeDependencies {
  readonly credentials: Pick<Credentials, 'find'>
  readonly mail: Mail
  readonly i18n: Pick<Translator, 'negotiate' | 'translate'>
  readonly site: Pick<Site, 'name'>
  readonly log: Logger
}

type Notice = Omit<FactorChange, 'kind'> & { readonly kind: FactorChange['kind'] | 'reset' }

/** Tells the owner about each change by mail (ASVS 6.3.7). */
export function mailNotices(events: Pick<Events, 'on'>, parts: NoticeDependencies): void {
  events.on(factorChanged, 'authenticators.notice', ({ id, payload }: Delivery<FactorChange>) =>
    send({ id, payload }, parts),
  )
  events.on(secondFactorsReset, 'authenticators.reset-notice', ({ id, payload: { userId } }) =>
    send({ id, payload: { kind: 'reset', userId } }, parts),
  )
}

async function send(
  { id, payload }: { readonly id: number | string; readonly payload: Notice },
  { credentials, mail, i18n, site, log }: NoticeDependencies,
): Promise<void> {
  const { kind, userId, name = '', left = 0 } = payload
  const owner = await credentials.find(userId)
  if (owner === undefined) return
  if (!mail.isReady || owner.confirmedEmail === null) {
    log.warn({ kind, userId }, 'the owner of an account has no confirmed e-mail address, or no mail can be sent')
    return
  }
  const locale = i18n.negotiate(undefined)
  const params = { site: site.name, username: owner.username, name, left }
  const text = (part: string) => i18n.translate(locale, `messages.authenticators.mail.${kind}.${part}`, params) ?? ''
  const message = { to: [owner.confirmedEmail], subject: text('subject'), text: text('content'), locale }
  const { deliveries } = await mail.send(message, { idempotencyKey: `authenticators.notice:${id}` })
  const [delivery] = deliveries
  if (delivery?.outcome === 'deferred') throw new Error(delivery.errorMessage ?? 'the mail was deferred')
}
