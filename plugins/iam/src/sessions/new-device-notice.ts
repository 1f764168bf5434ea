import type { Database } from '@plinth/database'
import type { Events } from '@plinth/events'
import type { Translator } from '@plinth/i18n'
import { bilingual, type LocalizedText, localize } from '@plinth/kernel'
import type { Mail } from '@plinth/mail'
import type { Site } from '@plinth/site'
import { User } from '../entities.ts'
import { deviceAdded } from './known-devices.ts'
import { signInMethods } from './sign-in-methods.ts'

/** Page of the back office with the own sessions. The link only opens the page: reading a mail must not end a session. */
const sessionsPage = '/admin/iam.own-sessions'
const sessionsTitle = bilingual('My account > Your active sessions', '我的账户 > 有效会话')
const unknown = bilingual('unknown', '未知')

interface NoticeDependencies {
  readonly db: Database
  readonly mail: Mail
  readonly i18n: Pick<Translator, 'translate'>
  readonly site: Pick<Site, 'name' | 'url'>
}

/**
 * Sends a mail to the confirmed address of the user for each new device (OWASP ASVS 5.0, 6.3.5). Sends nothing if no mail
 * driver is configured.
 */
export function notifyOfNewDevices(events: Pick<Events, 'on'>, { db, mail, i18n, site }: NoticeDependencies): void {
  events.on(deviceAdded, 'iam.new-device-notice', async ({ id, payload }) => {
    if (!mail.isReady) return
    const user = await db.fork().findOne(User, { id: payload.userId, enabled: true, emailKey: { $ne: null } })
    if (!user?.email) return
    const { locale, method, device, network, occurredAt } = payload
    const methods: Readonly<Record<string, LocalizedText>> = signInMethods
    const params = {
      site: site.name,
      username: user.username,
      time: occurredAt.slice(0, 16).replace('T', ' '),
      method: localize(methods[method] ?? method, locale),
      device: device || localize(unknown, locale),
      network,
      link: site.url === '' ? localize(sessionsTitle, locale) : `${site.url}${sessionsPage}`,
    }
    const text = (part: string) => i18n.translate(locale, `messages.iam.new-device.${part}`, params) ?? ''
    const message = { to: [user.email], subject: text('subject'), text: text('content'), locale }
    const { deliveries } = await mail.send(message, { idempotencyKey: `iam.new-device:${id}` })
    const [{ outcome, errorMessage } = { outcome: 'unknown', errorMessage: undefined }] = deliveries
    if (outcome === 'deferred') throw new Error(errorMessage ?? 'the mail was deferred')
  })
}
