import { randomUUID } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { databaseTimeMsSql } from '@plinth/coordination'
import { exactInteger, insertMissingRows, selectionOf } from '@plinth/database'
import { isBusinessError } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { ExpireBatch, type ExpireBatchRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { type ExpiredSource, expiredSources, expiryPageSize } from './lapsing.ts'

const table = 'points_expire_batch'
const fresh = {
  status: 'running',
  cursorExpiresAt: 0,
  cursorId: 0,
  scanned: 0,
  expired: 0,
  points: 0,
  refused: 0,
  leaseUntil: 0,
} as const

/** Lease of a scan in milliseconds. If one page takes longer, another instance may continue the scan. */
const leaseMs = 60_000

type ExpiryRunDependencies = Pick<Parts, 'db' | 'clock' | 'log' | 'lapsing'>

interface RunLimits {
  readonly signal?: AbortSignal
  /** Milliseconds after which the run stops. A later run continues. */
  readonly budgetMs?: number
}

interface TakenBatch {
  readonly id: number
  readonly asset: string
  readonly asOf: number
  readonly holder: string
}

interface PageResult {
  readonly scanned: number
  readonly expired: number
  readonly points: number
  readonly refused: number
}

/** Thrown if another run has taken over the scan. The transaction of the page is then rolled back. */
class ScanLost extends Error {
  override readonly name = 'ScanLost'
}

/**
 * Scans an asset for expired points (document 1 of the specification, "Expiry job"). Only one run at a time has the
 * lease of the scan. If it does not finish, a later run continues the scan. The debits of a page and the position of
 * the scan are committed together, so a crash loses nothing.
 */
export class ExpiryRuns {
  readonly #parts: ExpiryRunDependencies

  constructor(parts: ExpiryRunDependencies) {
    this.#parts = parts
  }

  /** @throws BusinessError `409` `member-points.expiry-running` if another run has the lease */
  async run(asset: string, { signal, budgetMs = Number.POSITIVE_INFINITY }: RunLimits = {}): Promise<ExpireBatchRow> {
    const { clock, db, log } = this.#parts
    const batch = await this.#take(asset)
    const end = clock.monotonic() + budgetMs
    try {
      while (await this.#page(batch)) {
        if (signal?.aborted || clock.monotonic() >= end) {
          await this.#release(batch)
          break
        }
        await nextTurn()
        await db.checkpointed()
      }
    } catch (error) {
      if (!(error instanceof ScanLost)) {
        await this.#release(batch).catch((failure: unknown) =>
          log.warn({ err: failure }, 'the lease of an expiry scan could not be released'),
        )
      }
      throw error
    }
    return this.get(batch.id)
  }

  async get(id: number): Promise<ExpireBatchRow> {
    return selectionOf(ExpireBatch.entity).of(await this.#parts.db.fork().findOneOrFail(ExpireBatch.entity, { id }))
  }

  /** Leases the open scan of the asset. If there is none, starts a new scan. */
  async #take(asset: string): Promise<TakenBatch> {
    const { db, clock } = this.#parts
    const holder = randomUUID()
    const now = databaseTimeMsSql(db, clock)
    return db.transactional(async () => {
      const scan = { ...fresh, id: db.newId(), asset, openAsset: asset }
      const row = { ...scan, asOf: clock.expiryNow(), startedAt: new Date(clock.now()) }
      await insertMissingRows(db, ExpireBatch.entity, 'openAsset', [row])
      const taken = await db.execute(
        `update ${table} set holder = ?, lease_until = ${now.sql} + ? where open_asset = ? and lease_until < ${now.sql}`,
        [holder, ...now.parameters, leaseMs, asset, ...now.parameters],
      )
      if (taken === 0) throw businessError('expiry-running', { params: { asset }, data: { asset } })
      const [batch] = await db.query<Record<string, unknown>>(`select id, as_of from ${table} where open_asset = ?`, [
        asset,
      ])
      return { id: exactInteger(batch?.['id']), asOf: exactInteger(batch?.['as_of']), asset, holder }
    })
  }

  async #release({ id, holder }: TakenBatch): Promise<void> {
    await this.#parts.db.execute(`update ${table} set holder = null, lease_until = 0 where id = ? and holder = ?`, [
      id,
      holder,
    ])
  }

  /** @returns true if more sources may follow */
  async #page(batch: TakenBatch): Promise<boolean> {
    const { db, lapsing } = this.#parts
    try {
      return await db.transactional(async () => {
        const sources = await this.#due(batch)
        const last = sources.at(-1)
        if (last === undefined) return this.#complete(batch)
        const { posted, amount, refused } = await lapsing.expire(batch.asset, sources)
        const result = { scanned: sources.length, expired: posted, points: amount, refused: refused.length }
        return this.#advance(batch, last, result)
      })
    } catch (error) {
      if (!isBusinessError(error)) throw error
      return this.#oneByOne(batch, error)
    }
  }

  /** Expires the sources one by one, so that one rejected source does not block the others. */
  async #oneByOne(batch: TakenBatch, cause: unknown): Promise<boolean> {
    const { db, lapsing, log } = this.#parts
    log.warn({ err: cause, batch: batch.id }, 'a page of expired points was rejected, so its sources expire one by one')
    for (const source of await this.#due(batch)) {
      const refused = { scanned: 1, expired: 0, points: 0, refused: 1 }
      await db
        .transactional(async () => {
          const { posted, amount, refused } = await lapsing.expire(batch.asset, [source])
          await this.#advance(batch, source, { scanned: 1, expired: posted, points: amount, refused: refused.length })
        })
        .catch(async (error: unknown) => {
          if (!isBusinessError(error)) throw error
          log.warn({ err: error, source: source.id }, 'points of a source could not expire')
          await this.#advance(batch, source, refused)
        })
    }
    return true
  }

  async #due({ id, asset, asOf }: TakenBatch): Promise<readonly ExpiredSource[]> {
    const { db } = this.#parts
    const [at] = await db.query<Record<string, unknown>>(
      `select cursor_expires_at, cursor_id from ${table} where id = ?`,
      [id],
    )
    const [expiry, last] = [exactInteger(at?.['cursor_expires_at']), exactInteger(at?.['cursor_id'])]
    return expiredSources.select(
      db,
      `where asset = ? and status = 'active' and remaining > 0 and expires_at >= ? and expires_at <= ?
         and (expires_at > ? or id > ?)
       order by expires_at, id limit ${expiryPageSize}`,
      [asset, expiry, asOf, expiry, last],
    )
  }

  async #advance(batch: TakenBatch, { id, expiresAt }: ExpiredSource, result: PageResult): Promise<boolean> {
    const { db, clock } = this.#parts
    const now = databaseTimeMsSql(db, clock)
    const { scanned, expired, points, refused } = result
    const changed = await db.execute(
      `update ${table} set cursor_expires_at = ?, cursor_id = ?, scanned = scanned + ?, expired = expired + ?,
         points = points + ?, refused = refused + ?, lease_until = ${now.sql} + ? where id = ? and holder = ?`,
      [expiresAt, id, scanned, expired, points, refused, ...now.parameters, leaseMs, batch.id, batch.holder],
    )
    if (changed === 0) throw new ScanLost()
    return true
  }

  async #complete(batch: TakenBatch): Promise<boolean> {
    const { db, clock } = this.#parts
    const changed = await db.execute(
      `update ${table} set status = 'completed', open_asset = null, holder = null, lease_until = 0, finished_at = ?
       where id = ? and holder = ?`,
      [new Date(clock.now()), batch.id, batch.holder],
    )
    if (changed === 0) throw new ScanLost()
    return false
  }
}
