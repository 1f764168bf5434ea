import type { Database } from '@plinth/database'
import { type Events, event } from '@plinth/events'
import { id, instant, Type } from '@plinth/http'
import type { Translator } from '@plinth/i18n'
import type { Logger, OptionalRef, ScheduledTask, ServiceRef } from '@plinth/kernel'
import type { Mail } from '@plinth/mail'
import type { keys } from '../config.ts'
import { User } from '../entities.ts'
import { noticeMs } from './api-tokens.ts'
import { ApiTokenRow } from './entities.ts'

/** Interval of the task in milliseconds: one hour. */
const intervalMs = 3_600_000
/** Number of tokens that one query reads. */
const batchSize = 100

/**
 * An API token ends in at most seven days. Published once per token with the key `user:{userId}`, if the product has
 * events. Tokens with a shorter lifetime are not announced, because their owner has just chosen the end.
 */
export const apiTokenEnding = event(
  'iam.api-token.ending',
  Type.Object({ tokenId: id, userId: id, name: Type.String(), expiresAt: instant }),
)

type Uses = {
  requires: { database: ServiceRef<Database>; events: OptionalRef<Events> }
  config: typeof keys
}

/** Publishes `apiTokenEnding` for tokens that end soon. Every token is announced once, also by several instances. */
export const announceEndingTokens: ScheduledTask<Uses> = {
  name: 'iam.api-token-notice',
  displayName: { en: 'Notify owners of API tokens that end soon', 'zh-CN': '提醒即将到期的 API 令牌的所有者' },
  fixedDelay: intervalMs,
  autoStartup: true,
  async run({ services: { database: db, events: bus }, config, log, signal }) {
    const maxLifetimeMs = config.get('platform.iam.api-token.max-lifetime')
    const now = db.clock.now()
    // A shorter maximum lifetime ends tokens earlier than their own end.
    const isDue = {
      $or: [{ noticeAt: { $lte: new Date(now) } }, { createdAt: { $lte: new Date(now + noticeMs - maxLifetimeMs) } }],
    }
    for (let after = 0; !signal.aborted; ) {
      const due = await db
        .fork()
        .find(
          ApiTokenRow,
          { $and: [{ noticeAt: { $ne: null }, revokedAt: null, id: { $gt: after } }, isDue] },
          { orderBy: { id: 'asc' }, limit: batchSize },
        )
      for (const token of due) {
        after = token.id
        const end = Math.min(token.expiresAt.getTime(), token.createdAt.getTime() + maxLifetimeMs)
        await announce(db, bus, log, { token, end, now })
      }
      if (due.length < batchSize) return
    }
  },
}

async function announce(
  db: Database,
  bus: Events | undefined,
  log: Logger,
  { token, end, now }: { readonly token: ApiTokenRow; readonly end: number; readonly now: number },
): Promise<void> {
  const { id: tokenId, userId, name } = token
  await db.transactional(async () => {
    const claim =
      'update iam_api_token set notice_at = null where id = ? and notice_at is not null and revoked_at is null'
    if ((await db.execute(claim, [tokenId])) === 0 || end <= now) return
    if (bus === undefined) {
      log.warn({ tokenId, userId }, 'an API token ends soon; without @plinth/events its owner is not notified')
      return
    }
    const facts = { tokenId, userId, name, expiresAt: new Date(end).toISOString() }
    await bus.publish(apiTokenEnding, facts, { key: `user:${userId}` })
  })
}

/** Services by which owners are notified. Without mail, a log line says that the owner was not notified. */
interface NoticeDependencies {
  readonly db: Database
  readonly mail: Mail | undefined
  readonly i18n: Pick<Translator, 'negotiate' | 'translate'> | undefined
  readonly log: Logger
}

/** Sends a mail to the owner of each token that ends soon. */
export function mailEndingTokens(events: Pick<Events, 'on'>, { db, mail, i18n, log }: NoticeDependencies): void {
  events.on(
    apiTokenEnding,
    'iam.api-token-notice',
    async ({ id: eventId, payload: { tokenId, userId, name, expiresAt } }) => {
      const owner = await db.fork().findOne(User, { id: userId, enabled: true })
      if (owner === null) return
      if (mail?.isReady !== true || i18n === undefined || !owner.email) {
        log.warn({ tokenId, userId }, 'an API token ends soon; its owner has no e-mail address, or no mail can be sent')
        return
      }
      const locale = i18n.negotiate(undefined)
      const params = { username: owner.username, name, day: expiresAt.slice(0, 10) }
      const text = (part: string) => i18n.translate(locale, `messages.iam.api-token-ending.${part}`, params) ?? ''
      const message = { to: [owner.email], subject: text('subject'), text: text('content'), locale }
      const { deliveries } = await mail.send(message, { idempotencyKey: `iam.api-token-notice:${eventId}` })
      const [{ outcome, errorMessage } = { outcome: 'unknown', errorMessage: undefined }] = deliveries
      if (outcome === 'deferred') throw new Error(errorMessage ?? 'the mail was deferred')
    },
  )
}
