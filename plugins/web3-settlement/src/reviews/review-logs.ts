import type { LabelSource } from '@plinth/admin'
import { type Database, type FoundPage, findPage, type PageWindow } from '@plinth/database'
import { fitTextToColumn } from '@plinth/kernel'
import type { PaymentOrder } from '@plinth/money/payments'
import { callerLogs } from '../caller-orders.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import { type ReviewAction, ReviewRow, type ReviewStatus, type SettlementOutcome } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { fingerprintVersion } from '../planning/fingerprint.ts'
import { fingerprintOfPlan, type SettlementPlan } from '../planning/plan.ts'
import { type AttemptReason, blockingReasons, type CandidateState } from '../planning/reasons.ts'

type SaverDependencies = Pick<Parts, 'db' | 'accounts' | 'attempts' | 'needsSecondPerson'>

export class SaverNames {
  readonly #parts: SaverDependencies

  constructor(parts: SaverDependencies) {
    this.#parts = parts
  }

  /**
   * Returns why a review must not be settled automatically: the user who saved it is disabled or deleted, or a second
   * person is required and has not tried to settle it.
   */
  async obstacleOf(log: ReviewRow): Promise<'saver-not-active' | 'second-person-required' | undefined> {
    const { accounts, attempts, needsSecondPerson } = this.#parts
    const saver = await this.#saverOf(log)
    if (saver === null) return undefined
    if ((await accounts.find(saver))?.enabled !== true) return 'saver-not-active'
    if (needsSecondPerson() && !(await attempts.wasTriedBySecond(log, saver))) return 'second-person-required'
    return undefined
  }

  /** True if a second person is required, and the reviewer saved the review. */
  async isOnlyPerson(log: ReviewRow, { userId }: Reviewer): Promise<boolean> {
    return userId !== null && this.#parts.needsSecondPerson() && (await this.#saverOf(log)) === userId
  }

  /**
   * Returns the user who saved a review. An automatic review has no user, so the user who saved its source is returned.
   */
  async #saverOf({ actorUserId, sourceLogId }: ReviewRow): Promise<number | null> {
    if (actorUserId != null || sourceLogId == null) return actorUserId ?? null
    const [source] = await this.#parts.db.query<{ actor_user_id: unknown }>(
      'select actor_user_id from web3_settlement_review_log where id = ?',
      [sourceLogId],
    )
    return source?.actor_user_id == null ? null : Number(source.actor_user_id)
  }
}

export interface Reviewer {
  /** Null for an automatic action. */
  readonly userId: number | null
  readonly permissions: readonly string[]
  readonly traceId: string | null
}

interface ReviewRequest {
  readonly outTradeNo: string
  readonly transactionHash?: string | undefined
  readonly logIndex?: number | undefined
  readonly action: 'settle' | 'record'
  readonly remark?: string | undefined
  /** Fingerprint that the operator saw. It must equal the current fingerprint. */
  readonly reviewFingerprint?: string | undefined
}

interface ReviewEntry {
  readonly action: ReviewAction
  readonly status: ReviewStatus
  readonly state?: CandidateState
  readonly reviewFingerprint?: string
  readonly fingerprintVersion?: number
  readonly attempt?: { readonly outcome: SettlementOutcome; readonly reasons: readonly AttemptReason[] }
  readonly logIndex?: number | null
  readonly remark?: string | null
  readonly sourceLogId?: number | null
  readonly retryAt?: Date | null
  readonly reviewer: Reviewer
}

type ReviewDependencies = Pick<Parts, 'db' | 'clock' | 'approvals' | 'candidates' | 'payments' | 'unmatched'>

type ReviewFilter = Partial<Pick<ReviewRow, 'outTradeNo' | 'status' | 'lastOutcome'>>

/** Maximum number of reviews that the list of retries shows. Operators cannot handle more. */
const maxRetryable = 500
const ordersAtOnce = 200

export const isSettlingAction = (action: ReviewAction) => action === 'settle' || action === 'auto-approve'

/** Saves and finds reviews (document 3 of the specification, "Settlement review log"). */
export class ReviewLogStore {
  readonly #parts: ReviewDependencies

  constructor(parts: ReviewDependencies) {
    this.#parts = parts
  }

  /**
   * Saves a review. The chain is queried before the transaction.
   *
   * @param record writes the audit entry in the transaction of the review
   * @throws BusinessError "409" `web3-settlement.fingerprint-differs`, and the errors of the approval
   */
  async save(
    request: ReviewRequest,
    reviewer: Reviewer,
    record: (log: ReviewRow) => Promise<void>,
  ): Promise<ReviewRow> {
    const { db, approvals, candidates, unmatched } = this.#parts
    const { outTradeNo, transactionHash, logIndex, action } = request
    await approvals.assert('record', { id: outTradeNo, state: 'new' }, reviewer)
    const wasMined = await this.#wasMined(outTradeNo, transactionHash)
    const candidate = await candidates.of({ outTradeNo, transactionHash, pick: { logIndex }, wasMined })
    const { plan } = candidate
    if (request.reviewFingerprint !== undefined && request.reviewFingerprint !== plan.fingerprint) {
      throw businessError('fingerprint-differs', { data: { reviewFingerprint: plan.fingerprint } })
    }
    return db.transactional(async () => {
      const log = await this.insert(plan, {
        action,
        reviewer,
        status: action === 'settle' ? 'open' : 'noted',
        logIndex: logIndex ?? null,
        remark: request.remark ?? null,
      })
      await unmatched.record(candidate, 'review', reviewer.userId)
      await record(log)
      return log
    })
  }

  /** Inserts a review in the current transaction. */
  async insert(plan: SettlementPlan, entry: ReviewEntry): Promise<ReviewRow> {
    const { db, clock } = this.#parts
    const { action, status, reviewer } = entry
    const { attempt } = entry
    const candidate = plan.state === 'ready' && attempt === undefined
    const createdAt = new Date(clock.now())
    const log: ReviewRow = {
      id: db.newId(),
      outTradeNo: plan.outTradeNo,
      chainName: plan.chainName,
      transactionHash: plan.transactionHash,
      logIndex: entry.logIndex ?? null,
      action,
      status,
      state: entry.state ?? plan.state,
      candidate,
      retryable: candidate && isSettlingAction(action) && (status === 'open' || status === 'approved'),
      reasons:
        attempt === undefined
          ? [...plan.reasons]
          : blockingReasons.filter((reason) => attempt.reasons.includes(reason)),
      planSnapshot: plan,
      reviewFingerprint: entry.reviewFingerprint ?? plan.fingerprint,
      fingerprintVersion: entry.fingerprintVersion ?? fingerprintVersion,
      remark: entry.remark == null ? null : fitTextToColumn(entry.remark, 500),
      sourceLogId: entry.sourceLogId ?? null,
      actorUserId: reviewer.userId,
      permissionSnapshot: [...reviewer.permissions],
      retryAt: entry.retryAt ?? null,
      lastOutcome: attempt?.outcome ?? null,
      lastReasons: attempt === undefined ? null : [...attempt.reasons],
      lastAttemptAt: attempt === undefined ? null : createdAt,
      heldAt: null,
      version: 1,
      traceId: reviewer.traceId === null ? null : fitTextToColumn(reviewer.traceId, 128),
      createdAt,
    }
    await db.fork().insert(ReviewRow, log)
    return log
  }

  /** @throws BusinessError "404" `web3-settlement.review-log-unknown` */
  async get(id: number, rows: object = {}): Promise<ReviewRow> {
    const log = await this.#parts.db.fork().findOne(ReviewRow, { $and: [{ id }, rows] })
    if (log === null) throw businessError('review-log-unknown')
    return log
  }

  /** Lists reviews. @param rows condition `callerLogs(request)` */
  list(where: ReviewFilter, rows: object, window: PageWindow): Promise<FoundPage<ReviewRow>> {
    return findPage(this.#parts.db.fork(), ReviewRow, { $and: [where, rows] }, window)
  }

  /**
   * Returns reviews that request a settlement and whose fingerprint still matches the order (document 3 of the
   * specification, "Web3 settlement endpoints"). Queries no chain. Searches the newest 500 reviews, so that the total
   * agrees with the pages.
   */
  async retryable(filter: ReviewFilter, rows: object, window: PageWindow): Promise<FoundPage<ReviewRow>> {
    const { db, payments } = this.#parts
    const where = { $and: [{ ...filter, retryable: true }, rows] }
    const orderBy = [{ property: 'id', direction: 'desc' as const }]
    const { items, next } = await findPage(db.fork(), ReviewRow, where, {
      orderBy,
      size: maxRetryable,
      offset: 0,
      count: 'none' as const,
      range: window.range,
      conditions: window.conditions ?? [],
    })
    const orders = new Map<string, PaymentOrder>()
    const numbers = [...new Set(items.map((log) => log.outTradeNo))]
    for (let from = 0; from < numbers.length; from += ordersAtOnce) {
      for (const [number, order] of await payments.findMany(numbers.slice(from, from + ordersAtOnce))) {
        orders.set(number, order)
      }
    }
    const kept = items.filter((log) => matchesOrder(log, orders.get(log.outTradeNo)))
    const after = window.after?.[0]
    const start = after === undefined ? window.offset : kept.findIndex(({ id }) => id < Number(after))
    const shown = start < 0 ? [] : kept.slice(start, start + window.size)
    const last = shown.at(-1)
    const goesOn = last !== undefined && last !== kept.at(-1)
    const total = window.count === 'none' ? null : kept.length
    return { items: shown, total, isCapped: next !== null, next: goesOn ? [last.id] : null }
  }

  /** Returns those of the orders that have a review which can still settle them. */
  async openOf(outTradeNos: readonly string[]): Promise<ReadonlySet<string>> {
    if (outTradeNos.length > ordersAtOnce) throw new RangeError(`${outTradeNos.length} are more than ${ordersAtOnce}`)
    if (outTradeNos.length === 0) return new Set()
    const rows = await this.#parts.db.query<{ out_trade_no: string }>(
      `select distinct out_trade_no from web3_settlement_review_log
       where out_trade_no in (${outTradeNos.map(() => '?').join(', ')}) and status in ('open', 'approved')
         and action in ('settle', 'auto-approve')`,
      [...outTradeNos],
    )
    return new Set(rows.map((row) => row.out_trade_no))
  }

  /** True if the last review saw this transaction in a block. If it is in no block now, a reorganisation removed it. */
  async #wasMined(outTradeNo: string, transactionHash: string | undefined): Promise<boolean> {
    const orderBy = { id: 'desc' as const }
    const [last] = await this.#parts.db.fork().find(ReviewRow, { outTradeNo }, { orderBy, limit: 1 })
    const isSame = transactionHash === undefined || last?.transactionHash === transactionHash.toLowerCase()
    return last !== undefined && isSame && wasMined(last)
  }
}

/** True if this review or an earlier one saw the transaction in a block. */
export const wasMined = ({ planSnapshot: { confirmations, reasons } }: Pick<ReviewRow, 'planSnapshot'>): boolean =>
  confirmations !== null || reasons.includes('transfer-removed')

const matchesOrder = (log: ReviewRow, order: PaymentOrder | undefined) =>
  order?.status === 'pending' &&
  fingerprintOfPlan(log.planSnapshot, order, log.fingerprintVersion === 1 ? 1 : 2) === log.reviewFingerprint

/** A search returns the newest 20 rows. */
const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
const labelOf = ({ id, outTradeNo }: Pick<ReviewRow, 'id' | 'outTradeNo'>) => ({ id, name: `${outTradeNo} (${id})` })

/** Labels of reviews. A label contains the order number and the id of the review. */
export const reviewLabels = (db: Database): LabelSource => ({
  permission: permissionCodes.reviewView,
  scope: 'caller',
  async byIds(ids, request) {
    const numbers = ids.map(Number).filter(Number.isSafeInteger)
    return (await db.fork().find(ReviewRow, { $and: [{ id: { $in: numbers } }, callerLogs(request)] })).map(labelOf)
  },
  async search(text, request) {
    const where = { $and: [text === '' ? {} : { outTradeNo: text }, callerLogs(request)] }
    return (await findPage<ReviewRow>(db.fork(), ReviewRow, where, window)).items.map(labelOf)
  },
})
