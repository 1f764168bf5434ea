import { type Events, event } from '@plinth/events'
import { Type } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Mail } from '@plinth/mail'

/**
 * A user replaced the address for signing in. Published in the transaction of the change, with the key `user:{userId}`.
 */
export const signInEmailReplaced = event(
  'iam.user.sign-in-email-replaced',
  Type.Object({ userId: Type.Integer({ minimum: 1 }), username: Type.String(), previousEmail: Type.String() }),
)

/**
 * Mails the previous address when a user replaces it, so that its owner notices a change by an attacker (OWASP ASVS
 * 2.2.3). Sends nothing without a configured mail driver.
 */
export function noticePreviousEmail(
  events: Pick<Events, 'on'>,
  mail: Mail,
  i18n: Pick<Translator, 'negotiate' | 'translate'>,
) {
  events.on(signInEmailReplaced, 'iam.email-notice', async ({ id, payload: { username, previousEmail } }) => {
    if (!mail.isReady) return
    const locale = i18n.negotiate(undefined)
    const text = (part: string) => i18n.translate(locale, `messages.iam.email-replaced.${part}`, { username }) ?? ''
    const message = { to: [previousEmail], subject: text('subject'), text: text('content'), locale }
    const { deliveries } = await mail.send(message, { idempotencyKey: `iam.email-notice:${id}` })
    const [{ outcome, errorMessage } = { outcome: 'unknown', errorMessage: undefined }] = deliveries
    if (outcome === 'deferred') throw new Error(errorMessage ?? 'the mail was deferred')
  })
}
