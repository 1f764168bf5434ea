import { type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import { mailOwner, type OwnerMailDependencies, secondFactorsReset } from '@plinth/iam'
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

/** Tells the owner about each change by mail (ASVS 6.3.7). */
export function mailNotices(events: Pick<Events, 'on'>, parts: OwnerMailDependencies): void {
  const send = (id: number | string, kind: string, { userId, name = '', left = 0 }: Omit<FactorChange, 'kind'>) =>
    mailOwner(
      {
        userId,
        texts: `messages.authenticators.mail.${kind}`,
        params: { name, left },
        idempotencyKey: `authenticators.notice:${id}`,
      },
      parts,
    )
  events.on(factorChanged, 'authenticators.notice', ({ id, payload }) => send(id, payload.kind, payload))
  events.on(secondFactorsReset, 'authenticators.reset-notice', ({ id, payload }) => send(id, 'reset', payload))
}
