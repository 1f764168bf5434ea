import type { Digests } from '@plinth/digest'
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
  readonly saver: RuleSaver | undefined
  /** Code of the digest that collects the alert, unless it is escalated. */
  readonly digest: string | undefined
  /** True if earlier messages had no effect. The alert then ignores quiet hours. */
  readonly isEscalated: boolean
}

/** User in whose data scope the alerts of a rule are sent, who saved it last. */
export interface RuleSaver {
  readonly userId: number | undefined
  /** Data scope at the time of the save. It applies if the user no longer exists or is disabled. */
  readonly dataScope: Principal['dataScope']
  readonly orgId: number | null
}

/** Caller in whose name alerts of rules of earlier releases are sent, whose last saver is not known. */
const unknownSaver: Principal = {
  userId: 0,
  username: 'notification-rules',
  orgId: null,
  credential: 'none',
  sessionId: 0,
  roles: [],
  isSuperAdmin: false,
  permissions: new Set(),
  dataScope: 'all',
  can: () => false,
  assertFresh: () => Promise.reject(new Error('a rule has no session')),
}

interface SenderDependencies {
  readonly notification: Pick<Notification, 'enqueue'>
  /** Undefined in a product without digests. */
  readonly digests: Digests | undefined
  readonly identity: Pick<Identity, 'assertInScope' | 'principalOf' | 'reachedOf'>
  readonly log: Logger
}

export class AlertSender {
  readonly #parts: SenderDependencies

  constructor(parts: SenderDependencies) {
    this.#parts = parts
  }

  /**
   * Sends an alert in the current transaction. Skips and logs recipients outside the data scope of the saver of the rule,
   * such as deleted users.
   *
   * @returns id of the message, or null if a digest collects the alert; undefined if no recipient remains
   */
  async send(command: AlertCommand): Promise<number | null | undefined> {
    const { code, dedupeKey, channels, subject, content, locale, variables, attributes, isEscalated } = command
    const userIds = await this.#inScope(command)
    if (userIds.length === 0) return undefined
    const recipients = userIds.map((userId) => ({ kind: 'user' as const, userId }))
    const about = { ...attributes, dedupeKey, ruleCode: code }
    const { digests } = this.#parts
    if (command.digest !== undefined && !isEscalated && digests !== undefined) {
      const item = { digest: command.digest, userIds, subjectKey: dedupeKey, data: variables, attributes: about }
      // An alert that is too large for a digest is sent alone. The digest has checked it before its first statement.
      const outcome = await digests.add(item).catch((error: unknown) => {
        if (error instanceof RangeError) return 'off'
        throw error
      })
      if (outcome !== 'off') return null
    }
    const draft = { subject, content, variables, recipients, attributes: about }
    const options = { channels, priority: isEscalated ? ('critical' as const) : ('normal' as const) }
    const { id } = await this.#parts.notification.enqueue(locale === undefined ? draft : { ...draft, locale }, options)
    return id
  }

  async #principalOf(saver: RuleSaver | undefined): Promise<Principal> {
    if (saver === undefined) return unknownSaver
    const { userId, dataScope, orgId } = saver
    const present = userId === undefined ? undefined : await this.#parts.identity.principalOf(userId)
    return present ?? { ...unknownSaver, userId: userId ?? 0, dataScope, orgId }
  }

  async #inScope({ code, saver, recipientUserIds }: AlertCommand): Promise<readonly number[]> {
    const { identity, log } = this.#parts
    const scope = await this.#principalOf(saver)
    try {
      await identity.assertInScope(scope, recipientUserIds)
      return recipientUserIds
    } catch (error) {
      if (!isBusinessError(error)) throw error
    }
    const reached = await identity.reachedOf(scope, recipientUserIds)
    const within = recipientUserIds.filter((userId) => reached.has(userId))
    const skipped = recipientUserIds.filter((userId) => !reached.has(userId))
    log.warn(
      { code, scope: scope.username, skipped },
      'recipients of a notification rule are deleted or outside the data scope',
    )
    return within
  }
}
