import { appendFile, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { makePrivateDirectory, reasonOf } from '@plinth/kernel'
import type { Outcome, RecordView } from '../contract.ts'
import type { InstallFiles } from '../files.ts'
import type { InstallServices } from '../requires.ts'
import { RecordRow } from './entities.ts'

interface NewRecord {
  /** Empty for a step that runs alone. */
  readonly sessionId: string
  readonly stepCode: string
  readonly status: Outcome
  /** Must not contain secrets. */
  readonly message: string
}

type JournalParts = Pick<InstallServices, 'database' | 'clock' | 'log'> & {
  readonly files: Pick<InstallFiles, 'executionLog'>
}

const newestFirst = { occurredAt: 'desc', id: 'desc' } as const
const defaultLimit = 100
const largestLimit = 500

/** Limits `limit` of a list of records (decision B59). */
export const limitOf = (limit: number | undefined) => Math.min(largestLimit, Math.max(1, limit ?? defaultLimit))

/** Bytes at the end of the file that are read for the last records. */
const tailBytes = 1_048_576
/** Maximum number of records that wait for a database. */
const maxWaiting = 1_000

/**
 * The record of each step: a line in a file (JSON Lines) and, once there is a database, a row. Reads prefer the
 * database and use the file as a fallback, also if the rows were deleted.
 */
export class Journal {
  readonly #parts: JournalParts
  #waiting: RecordView[] = []
  #lastId = 0

  constructor(parts: JournalParts) {
    this.#parts = parts
  }

  /** Never throws, because an unwritable log must not make an installation fail. */
  async append(record: NewRecord): Promise<RecordView> {
    const { clock, log } = this.#parts
    const now = clock.now()
    const view: RecordView = { id: this.#newId(now), ...record, occurredAt: new Date(now).toISOString() }
    await this.#appendLine(view).catch((error: unknown) => {
      log.warn({ reason: reasonOf(error) }, 'the execution log of the installation cannot be written')
    })
    this.#waiting = [...this.#waiting, view].slice(-maxWaiting)
    await this.storeWaiting()
    return view
  }

  /** Returns the newest records of one session or of all sessions, oldest first. */
  async newest(limit: number, sessionId?: string): Promise<readonly RecordView[]> {
    try {
      const where = sessionId === undefined ? {} : { sessionId }
      const rows = await this.#parts.database.fork().find(RecordRow, where, { orderBy: newestFirst, limit })
      if (rows.length > 0) return rows.map(viewOf).reverse()
    } catch {
      // The database is not available or has no such table.
    }
    return this.#newestLines(limit, sessionId)
  }

  async #appendLine(record: RecordView): Promise<void> {
    const { executionLog } = this.#parts.files
    await makePrivateDirectory(dirname(executionLog))
    await appendFile(executionLog, `${JSON.stringify(record)}\n`, { mode: 0o600 })
  }

  /** Stores the records that have no row yet. Never throws. */
  async storeWaiting(): Promise<void> {
    const waiting = this.#waiting
    this.#waiting = []
    try {
      await this.#insert(waiting)
    } catch (error) {
      const left = error instanceof UniqueConstraintViolationException ? await this.#insertEach(waiting) : waiting
      // The database is not available yet or any more. The file contains all records.
      this.#waiting = [...left, ...this.#waiting].slice(-maxWaiting)
    }
  }

  async #insert(records: readonly RecordView[]): Promise<void> {
    if (records.length === 0) return
    await this.#parts.database.transactional(async (em) => {
      for (const { occurredAt, ...record } of records) {
        em.create(RecordRow, { ...record, occurredAt: new Date(occurredAt) })
      }
    })
  }

  /**
   * Handles a record that is stored already, because the response to its commit was lost. Returns the records that are
   * still to be stored.
   */
  async #insertEach(records: readonly RecordView[]): Promise<readonly RecordView[]> {
    const left: RecordView[] = []
    for (const record of records) {
      await this.#insert([record]).catch((error: unknown) => {
        if (!(error instanceof UniqueConstraintViolationException)) left.push(record)
      })
    }
    return left
  }

  /**
   * Returns an increasing id, also within a millisecond. An id without a database is smaller than any id of the
   * database.
   */
  #newId(now: number): number {
    try {
      this.#lastId = Math.max(this.#lastId + 1, this.#parts.database.newId())
    } catch {
      this.#lastId = Math.max(this.#lastId + 1, now)
    }
    return this.#lastId
  }

  async #newestLines(limit: number, sessionId: string | undefined): Promise<readonly RecordView[]> {
    const lines = (await this.#tail()).split('\n').filter((line) => line !== '')
    const records = lines.flatMap(parsed)
    return records.filter((record) => sessionId === undefined || record.sessionId === sessionId).slice(-limit)
  }

  async #tail(): Promise<string> {
    const file = await open(this.#parts.files.executionLog).catch(() => undefined)
    if (file === undefined) return ''
    try {
      const { size } = await file.stat()
      const length = Math.min(size, tailBytes)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
      return buffer.toString('utf8', 0, bytesRead)
    } finally {
      await file.close()
    }
  }
}

/** Ignores a line that is incomplete because of a crash or because the tail begins within it. */
function parsed(line: string): RecordView[] {
  try {
    const record: unknown = JSON.parse(line)
    return isRecord(record) ? [record] : []
  } catch {
    return []
  }
}

const viewOf = ({ occurredAt, ...row }: RecordRow): RecordView => ({ ...row, occurredAt: occurredAt.toISOString() })

const isRecord = (value: unknown): value is RecordView =>
  typeof value === 'object' && value !== null && 'stepCode' in value && typeof value.stepCode === 'string'
