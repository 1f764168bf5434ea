import type { Translator } from '@plinth/i18n'
import type { Logger } from '@plinth/kernel'
import type { Mail } from '@plinth/mail'
import type { Site } from '@plinth/site'
import type { Credentials } from '../contract.ts'

/** Services of a plugin that tells users about changes of their accounts. */
export interface OwnerMailDependencies {
  readonly credentials: Pick<Credentials, 'find'>
  readonly mail: Mail
  readonly i18n: Pick<Translator, 'negotiate' | 'translate'>
  readonly site: Pick<Site, 'name'>
  readonly log: Logger
}

interface OwnerMail {
  readonly userId: number
  /** Path of the messages `subject` and `content`. Their parameters are `site`, `username` and `params`. */
  readonly texts: string
  readonly params: Readonly<Record<string, string | number>>
  readonly idempotencyKey: string
}

/**
 * Sends a mail to the confirmed address of a user. If there is none, or no mail can be sent, the log says so.
 *
 * @throws Error if the mail was deferred, so that the event that caused it is delivered again
 */
export async function mailOwner(
  { userId, texts, params, idempotencyKey }: OwnerMail,
  { credentials, mail, i18n, site, log }: OwnerMailDependencies,
): Promise<void> {
  const owner = await credentials.find(userId)
  if (owner === undefined) return
  if (!mail.isReady || owner.confirmedEmail === null) {
    log.warn({ texts, userId }, 'the owner of an account has no confirmed e-mail address, or no mail can be sent')
    return
  }
  const locale = i18n.negotiate(undefined)
  const all = { site: site.name, username: owner.username, ...params }
  const text = (part: string) => i18n.translate(locale, `${texts}.${part}`, all) ?? ''
  const message = { to: [owner.confirmedEmail], subject: text('subject'), text: text('content'), locale }
  const { deliveries } = await mail.send(message, { idempotencyKey })
  const [delivery] = deliveries
  if (delivery?.outcome === 'deferred') throw new Error(delivery.errorMessage ?? 'the mail was deferred')
}
