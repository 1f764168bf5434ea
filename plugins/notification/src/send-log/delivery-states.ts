import { type Database, firstIdAt } from '@plinth/database'
import type { Events } from '@plinth/events'
import { fitTextToColumn, omitUndefined } from '@plinth/kernel'
import type { Suppressions } from '@plinth/suppression'
import { type DeliveryReport, type DeliveryState, deliveryStates, type SendDeliveries } from '../contract.ts'
import { SendLogRow, type SendLogState } from '../entities.ts'
import { changeCounts, changeMessageCounts, countsByKind, sendLogKindOf } from './counts.ts'
import { sendFailed, sendSucceeded } from './end-events.ts'
import { rowLock } from './row.ts'

/** Milliseconds after which a send without a report is `unconfirmed`. */
export const confirmationMs = 72 * 3_600_000

/** Delivery states as lists show them. `unconfirmed`: the provider reported no end within 72 hours. */
export const shownDeliveryStates = [...deliveryStates, 'unconfirmed'] as const
type ShownDeliveryState = (typeof shownDeliveryStates)[number]

/** States after which the provider usually reports another one. */
const openStates = ['queued', 'sent', 'delayed'] as const
const isOpen = (state: DeliveryState): boolean => (openStates as readonly DeliveryState[]).includes(state)

/** If several attempts have the same reference, the report goes to the first status of this list, then to the newest row. */
const preference: readonly SendLogState[] = ['success', 'unknown', 'sending', 'waiting', 'retried', 'failed', 'dead']

type Dependencies = {
  readonly db: Database
  readonly events: Pick<Events, 'publish' | 'isHandled'> | undefined
}
type DeliveryDependencies = Dependencies & {
  /** Is told about bounces, complaints and deliveries, in their transaction. */
  readonly suppressions: Pick<Suppressions, 'report'> | undefined
}
type StoredDelivery = Pick<SendLogRow, 'status' | 'channel' | 'provider' | 'deliveryState' | 'createdAt'>

export class SendLogDeliveries implements Omit<SendDeliveries, 'askProviders'> {
  readonly #parts: DeliveryDependencies
  readonly #expected: Parameters<SendDeliveries['expect']>[0][] = []

  constructor(parts: DeliveryDependencies) {
    this.#parts = parts
  }

  expect(sends: Parameters<SendDeliveries['expect']>[0]): void {
    this.#expected.push(sends)
  }

  apply(report: DeliveryReport): Promise<number | undefined> {
    const { db, suppressions } = this.#parts
    return db.transactional(async (em) => {
      const row = await this.#find(report)
      if (row === undefined) return undefined
      const { state, at, bounce = 'soft', detail } = report
      const isHigher = row.deliveryState == null || rank(state) >= rank(row.deliveryState)
      const isHard = bounce === 'hard' || row.bounceKind === 'hard'
      const isKnown = row.deliveryTimes?.[state] !== undefined
      const isNews = !isKnown || (state === 'bounced' && isHard && row.bounceKind !== 'hard')
      if (isNews) {
        await em.nativeUpdate(
          SendLogRow,
          { id: row.id },
          omitUndefined({
            deliveryState: isHigher ? state : undefined,
            deliveryTimes: isKnown ? undefined : { ...row.deliveryTimes, [state]: new Date(at).toISOString() },
            bounceKind: state === 'bounced' ? (isHard ? 'hard' : 'soft') : undefined,
            deliveryDetail: isHigher && detail !== undefined ? fitTextToColumn(detail, 255) : undefined,
          }) as object,
        )
        const { id: sendLogId, channel, addressKey, userId, recipients } = row
        const about = { sendLogId, channel, userId: userId ?? null, address: recipients[0] ?? '', at }
        if (addressKey != null) await suppressions?.report({ ...about, key: addressKey, state, bounce })
      }
      await resolveUnknown(this.#parts, { ...row, deliveryState: isHigher ? state : row.deliveryState })
      return row.id
    })
  }

  /** Returns the delivery state that a list shows; null if no reports are expected for the send. */
  shownState({ status, channel, provider, deliveryState, createdAt }: StoredDelivery): ShownDeliveryState | null {
    if (deliveryState != null && !isOpen(deliveryState)) return deliveryState
    const isExpected = this.#sends().some((one) => one.channel === channel && (one.provider ?? provider) === provider)
    if (status !== 'success' || !isExpected) return deliveryState ?? null
    const isLate = createdAt.getTime() + confirmationMs <= this.#parts.db.clock.now()
    return isLate ? 'unconfirmed' : (deliveryState ?? 'sent')
  }

  /** Returns the condition for the rows that a list shows with a state. */
  rowsWith(state: ShownDeliveryState): object {
    if (state !== 'unconfirmed' && !isOpen(state)) return { deliveryState: state }
    const late = firstIdAt(this.#parts.db.clock.now() - confirmationMs)
    const expected = {
      $or: this.#sends().map((one) => omitUndefined<{ channel: string; provider?: string }>({ ...one })),
    }
    const hasReports = expected.$or.length > 0
    const stateIn = (states: readonly (DeliveryState | null)[]) => ({
      $or: states.map((deliveryState) => ({ deliveryState })),
    })
    if (state === 'unconfirmed') {
      if (!hasReports) return { id: -1 }
      return { $and: [{ status: 'success', id: { $lt: late } }, stateIn([null, ...openStates]), expected] }
    }
    if (!hasReports) return { deliveryState: state }
    const waiting = { $and: [{ status: 'success', deliveryState: null }, expected] }
    const open = state === 'sent' ? { $or: [{ deliveryState: state }, waiting] } : { deliveryState: state }
    return { $and: [open, { $or: [{ id: { $gte: late } }, { status: { $ne: 'success' } }, { $not: expected }] }] }
  }

  #sends() {
    return this.#expected.flatMap((sends) => sends())
  }

  /** Finds and locks the row of a report. */
  async #find({ channel, reference, provider, messageId }: DeliveryReport): Promise<SendLogRow | undefined> {
    const { db } = this.#parts
    const conditions = [
      ...(reference === undefined ? [] : [{ channel, reference }]),
      ...(provider === undefined || messageId === undefined ? [] : [{ channel, provider, messageId }]),
    ]
    for (const where of conditions) {
      const query = { ...rowLock(db), exclude: ['payload'], orderBy: { id: 'desc' }, limit: maxAttempts } as const
      const rows = (await db.fork().find(SendLogRow, where, query)) as SendLogRow[]
      const [first] = rows.sort((a, b) => preference.indexOf(a.status) - preference.indexOf(b.status))
      if (first !== undefined) return first
    }
    return undefined
  }
}

/** Maximum number of attempts with one reference that a report considers, the newest first. */
const maxAttempts = 50

const rank = (state: DeliveryState): number => deliveryStates.indexOf(state)

type ResolvedRow = Pick<
  SendLogRow,
  'id' | 'status' | 'outcome' | 'notificationId' | 'deliveryState' | 'channel' | 'attempt' | 'userId' | 'orgId'
> & { readonly restorable: boolean }

/**
 * Gives a send with an unknown outcome the outcome that its delivery state proves, in the current transaction. The rows of
 * other sends do not change.
 */
export async function resolveUnknown({ db, events }: Dependencies, row: ResolvedRow): Promise<void> {
  const isUnknown = row.status === 'unknown' || (row.status === 'waiting' && row.outcome === 'unknown')
  if (!isUnknown || row.deliveryState == null) return
  const isSent = row.deliveryState !== 'failed'
  const resolved = isSent
    ? ({ status: 'success', outcome: 'accepted', restorable: false, payload: null } as const)
    : ({ status: 'failed', outcome: 'rejected', restorable: row.restorable } as const)
  const error = isSent
    ? { errorCode: null, errorMessage: null, hint: null }
    : { errorCode: 'notification.not-delivered' }
  const { id, status } = row
  const changed = await db
    .fork()
    .nativeUpdate(SendLogRow, { id, status }, { ...resolved, ...error, claimedUntil: null } as object)
  if (changed === 0) return
  const { notificationId, outcome } = row
  if (notificationId != null) {
    const before = outcome == null ? [] : [{ notificationId, outcome, by: -1 } as const]
    await changeMessageCounts(db, [...before, { notificationId, outcome: resolved.outcome, by: 1 }])
  }
  const kinds = [[sendLogKindOf(row), -1] as const, [sendLogKindOf(resolved), 1] as const]
  await changeCounts(db, countsByKind(kinds))
  const ref = isSent ? sendSucceeded : sendFailed
  if (events?.isHandled(ref) !== true) return
  const about = { notificationId, userId: row.userId, orgId: row.orgId, ...(isSent ? {} : error) }
  const known = Object.fromEntries(Object.entries(about).filter(([, value]) => value != null))
  await events.publish(ref, { sendLogId: id, channel: row.channel, attempt: row.attempt, ...known })
}
