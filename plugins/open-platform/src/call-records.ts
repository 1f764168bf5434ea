import { type Database, exactInteger, insertMissing } from '@plinth/database'
import { type SelectQueryBuilder, sql } from 'kysely'
import type { OpenCall } from './entities.ts'

/** An accepted call before it has an id. */
export type CallRecord = Readonly<Omit<OpenCall, 'id' | 'code' | 'durationMs'>> & {
  readonly code: string | null
  readonly durationMs: number | null
}

export interface UsageFilter {
  /** Days in UTC, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
  readonly appId?: number
  /** 1-based. */
  readonly page: number
  readonly size: number
}

/** Calls of one application to one route on one day. */
export interface UsageLine {
  readonly appId: number
  readonly appKey: string
  readonly day: string
  readonly method: string
  readonly route: string
  readonly calls: number
  /** Of these, the ones that were answered with a failure, or not at all. */
  readonly failed: number
  /** Units that they took. */
  readonly cost: number
}

interface LineColumns {
  readonly day: string
  readonly app_id: number
  readonly app_key: string
  readonly method: string
  readonly route: string
}
interface CallColumns extends LineColumns {
  readonly cost: number
  readonly code: string | null
}
/** Sums come as numbers or as text. */
interface UsageRow extends LineColumns {
  readonly calls: unknown
  readonly failed: unknown
  readonly cost: unknown
}

const target = {
  table: 'open_call',
  unique: 'call_key',
  columns: [
    ...['id', 'call_key', 'app_id', 'app_key', 'method', 'route', 'day', 'cost', 'quota_limit', 'code', 'duration_ms'],
    ...['occurred_at', 'trace_id'],
  ],
}

/** The table of accepted calls. */
export class CallRecords {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Writes all or none; what is there already stays as it is. */
  async write(calls: readonly CallRecord[]): Promise<void> {
    await this.#db.transactional(() =>
      insertMissing(
        this.#db,
        target,
        calls.map(({ callKey, appId, appKey, method, route, day, cost, quotaLimit, ...rest }) => [
          ...[this.#db.newId(), callKey, appId, appKey, method, route, day, cost, quotaLimit, rest.code],
          ...[rest.durationMs, rest.occurredAt, rest.traceId],
        ]),
      ),
    )
  }

  /** Usage by day (the newest first), application and route. */
  async usage({ from, to, appId, page, size }: UsageFilter): Promise<{ items: UsageLine[]; total: number }> {
    const lines = this.#db
      .fork()
      .getKysely<{ open_call: CallColumns }>()
      .selectFrom('open_call')
      .where('day', '>=', from)
      .where('day', '<=', to)
      .$if(appId !== undefined, (query) => query.where('app_id', '=', appId as number))
      .groupBy(['day', 'app_id', 'app_key', 'method', 'route'])
      .select(['day', 'app_id', 'app_key', 'method', 'route'])
    const rows = await lines
      .select(({ fn }) => [fn.countAll<string>().as('calls'), fn.sum<string>('cost').as('cost')])
      .select(sql<string>`sum(case when code like '2%' or code like '3%' then 0 else 1 end)`.as('failed'))
      .orderBy('day', 'desc')
      .orderBy('app_id')
      .orderBy('route')
      .orderBy('method')
      .limit(size)
      .offset((page - 1) * size)
      .execute()
    return { items: rows.map(lineOf), total: await this.#count(lines) }
  }

  async #count(lines: SelectQueryBuilder<{ open_call: CallColumns }, 'open_call', LineColumns>): Promise<number> {
    const counted = await this.#db
      .fork()
      .getKysely()
      .selectFrom(lines.as('usage_lines'))
      .select(({ fn }) => fn.countAll<string>().as('total'))
      .executeTakeFirst()
    return exactInteger(counted?.total ?? null)
  }
}

function lineOf({ app_id, app_key, day, method, route, calls, failed, cost }: UsageRow): UsageLine {
  return {
    ...{ appId: exactInteger(app_id), appKey: app_key, day, method, route },
    ...{ calls: exactInteger(calls), failed: exactInteger(failed), cost: exactInteger(cost) },
  }
}
