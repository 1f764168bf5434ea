import type { Database } from '@plinth/database'
import { type Clock, type DeliveryOutcome, errorReason, fitTextToColumn, type Logger } from '@plinth/kernel'
import type { SocialMessage } from './contract.ts'
import { Outbound } from './entities.ts'

interface OutboundDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  /** Masks secrets of the configuration. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
}

/** Stores one row per message, including messages that were rejected without being sent. */
export class OutboundLog {
  readonly #parts: OutboundDependencies

  constructor(parts: OutboundDependencies) {
    this.#parts = parts
  }

  /** Stores the result of a message. Never throws, because a failed write must not change this result. */
  async record(message: SocialMessage, outcome: DeliveryOutcome): Promise<void> {
    const { db, clock, log, redact } = this.#parts
    const failure = 'errorMessage' in outcome ? outcome.errorMessage : null
    const said = outcome.providerMessage ?? failure
    try {
      await db.fork().insert(Outbound.entity, {
        id: db.newId(),
        accountCode: fitTextToColumn(message.accountCode, 64),
        messageType: fitTextToColumn(message.messageType, 32),
        toUser: `***${message.toUser.slice(-4)}`,
        templateId: message.templateId === undefined ? null : fitTextToColumn(message.templateId, 128),
        clientMessageId: fitTextToColumn(message.clientMessageId, 200),
        outcome: outcome.outcome,
        providerMessageId: 'messageId' in outcome ? (outcome.messageId ?? null) : null,
        providerCode: outcome.providerCode ?? null,
        providerMessage: said === null ? null : fitTextToColumn(redact(said, [message.toUser]), 500),
        createdAt: new Date(clock.now()),
      })
    } catch (error) {
      log.error(
        { outcome: outcome.outcome, reason: errorReason(error) },
        'a message could not be stored in the outbound log',
      )
    }
  }
}
