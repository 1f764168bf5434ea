import { type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import { mailOwner, type OwnerMailDependencies } from '@plinth/iam'

const change = Type.Object({
  kind: Type.Enum(['linked', 'unlinked']),
  userId: Type.Integer({ minimum: 1 }),
  /** Name or address of the user at the provider. */
  label: Type.String(),
})
/**
 * An identity was linked to a user, or its link was removed. Published in the transaction of the change with the key
 * `user:{userId}`, if the product has events.
 */
export const identityChanged = event('sign-in-oidc.identity-changed', change)

/** Tells the owner of an account by mail about each change of the linked identities (ASVS 6.3.7). */
export function mailNotices(events: Pick<Events, 'on'>, parts: OwnerMailDependencies): void {
  events.on(identityChanged, 'sign-in-oidc.notice', ({ id, payload: { kind, userId, label } }) => {
    const texts = `messages.sign-in-oidc.mail.${kind}`
    return mailOwner({ userId, texts, params: { label }, idempotencyKey: `sign-in-oidc.notice:${id}` }, parts)
  })
}
