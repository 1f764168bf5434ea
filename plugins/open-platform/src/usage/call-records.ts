import { addToRows, type Database, type FoundPage, findPage, insertMissing, type PageWindow } from '@plinth/database'
import { OpenCall, OpenCallDay } from '../entities.ts'

/** An accepted call before it has an id. */
export type CallRecord = Readonly<Omit<OpenCall, 'id' | 'code' | 'durationMs'>> & {
  readonly code: string | null
  readonly durationMs: number | null
}

interface UsageFilter {
  /** Days of the site, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
  readonly appId?: number
  /** The rows that the caller may read: `callerRows(request, usageOwner)`. */
  readonly rows: object
}

/** The tables of accepted calls: a record of each, and their sums by day. */
export class CallRecords {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Writes all or none; what is there already stays as it is, and is not counted again. */
  async write(calls: readonly CallRecord[]): Promise<void> {
    await this.#db.transactional(async (em) => {
      const keys = calls.map(({ callKey }) => callKey)
      // Nobody else writes these: a call is recorded by the process that answers it.
      const written = await em.find(OpenCall, { callKey: { $in: keys } }, { fields: ['callKey'] })
      const known = new Set(written.map(({ callKey }) => callKey))
      const fresh = calls.filter(({ callKey }) => !known.has(callKey))
      const withId = <Row extends object>(row: Row) => ({ ...row, id: this.#db.newId() })
      await insertMissing(this.#db, OpenCall, 'callKey', fresh.map(withId))
      const key = ['day', 'appId', 'route', 'method'] as const
      const sums = ['calls', 'failed', 'cost'] as const
      await addToRows(this.#db, OpenCallDay, { key, sums }, sumsOf(fresh).map(withId))
    })
  }

  /** Sums by day, application and route. */
  usage({ from, to, appId, rows }: UsageFilter, window: PageWindow): Promise<FoundPage<OpenCallDay>> {
    const where = { day: { $gte: from, $lte: to }, ...(appId === undefined ? {} : { appId }) }
    return findPage<OpenCallDay>(this.#db.fork(), OpenCallDay, { $and: [where, rows] }, window)
  }
}

type DaySums = Omit<OpenCallDay, 'id'>

/** In one order, so that two processes that count the same do not wait for each other in a circle. */
function sumsOf(calls: readonly CallRecord[]): DaySums[] {
  const sums = new Map<string, DaySums>()
  for (const { day, appId, appKey, method, route, cost, code } of calls) {
    const name = JSON.stringify([day, appId, route, method])
    const sum = sums.get(name) ?? { day, appId, appKey, method, route, calls: 0, failed: 0, cost: 0 }
    const isFailed = code === null || !/^[23]/.test(code)
    sums.set(name, { ...sum, calls: sum.calls + 1, failed: sum.failed + (isFailed ? 1 : 0), cost: sum.cost + cost })
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}
