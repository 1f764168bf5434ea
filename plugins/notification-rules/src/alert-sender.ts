import type { Identity, Principal } from '@plinth/iam'
import { isBusinessError, type Logger } from '@plinth/kernel'
import type { Notification } from '@plinth/notification'

/** An alert to send (document 2 of the specification, "Notification rule"). */
interface AlertCommand {
  readonly channels: readonly string[]
  readonly recipientUserIds: readonly number[]
  readonly code: string
  readonly subject: string
  readonly content: string
  readonly locale: string | undefined
  readonly dedupeKey: string
  readonly variables: Readonly<Record<string, string | number | boolean | null>>
  readonly attributes: Readonly<Record<string, unknown>>
  readonly scope: Principal
  /** True if earlier messages had no effect. The alert then ignores quiet hours. */
  readonly isEscalated: boolean
}

/**
 * Caller in whose name alerts are sent. Its data scope includes all users, because the recipients were checked when an
 * operator saved the rule.
 */
export const alertSenderPrincipal: Principal = {
  userId: 0,
  username: 'notification-rules',
  orgId: null,
  sessionId: 0,
  roles: [],
  isSuperAdmin: false,
  permissions: new Set(),
  dataScope: 'all',
  can: () => false,
}

interface SenderDependencies {
  readonly notification: Pick<Notification, 'enqueue'>
  readonly identity: Pick<Identity, 'assertInScope' | 'isInScope'>
  readonly log: Logger
}

export class AlertSender {
  readonly #parts: SenderDependencies

  constructor(parts: SenderDependencies) {
    this.#parts = parts
  }

  /**
   * Sends an alert in the current transaction. Skips and logs recipients outside the data scope, such as deleted users.
   *
   * @returns false if no recipient remains
   */
  async send(command: AlertCommand): Promise<boolean> {
    const { code, dedupeKey, channels, subject, content, locale, variables, attributes, isEscalated } = command
    const userIds = await this.#inScope(command)
    if (userIds.length === 0) return false
    const recipients = userIds.map((userId) => ({ kind: 'user' as const, userId }))
    const about = { ...attributes, dedupeKey, ruleCode: code }
    const draft = { subject, content, variables, recipients, attributes: about }
    const options = { channels, priority: isEscalated ? ('critical' as const) : ('normal' as const) }
    await this.#parts.notification.enqueue(locale === undefined ? draft : { ...draft, locale }, options)
    return true
  }

  async #inScope({ code, scope, recipientUserIds }: AlertCommand): Promise<readonly number[]> {
    const { identity, log } = this.#parts
    try {
      await identity.assertInScope(scope, recipientUserIds)
      return recipientUserIds
    } catch (error) {
      if (!isBusinessError(error)) throw error
    }
    const within: number[] = []
    for (const userId of recipientUserIds) if (await identity.isInScope(scope, userId)) within.push(userId)
    const skipped = recipientUserIds.filter((userId) => !within.includes(userId))
    log.warn(
      { code, scope: scope.username, skipped },
      'recipients of a notification rule are deleted or outside the data scope',
    )
    return within
  }
}
