import { appendFile, open } from 'node:fs/promises'
import { dirname } from 'node:path'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { errorReason } from '@plinth/kernel'
import { makePrivateDirectory } from '@plinth/kernel/host'
import type { Outcome, RecordView } from '../contract.ts'
import type { InstallFiles } from '../files.ts'
import type { InstallServices } from '../requires.ts'
import { createReader, type Translate } from '../texts.ts'
import { RecordRow } from './entities.ts'

interface NewRecord {
  /** Id of the session; empty for a step that runs alone. */
  readonly sessionId: string
  readonly stepCode: string
  readonly status: Outcome
  /** Must not contain secrets. */
  readonly message: string
}

type JournalDependencies = Pick<InstallServices, 'database' | 'clock' | 'log'> & {
  readonly files: Pick<InstallFiles, 'executionLog'>
  readonly translate: Translate
}

const newestFirst = { occurredAt: 'desc', id: 'desc' } as const
const defaultLimit = 100
const largestLimit = 500

/** Returns a valid number of records for a list (decision B59). */
export const clampRecordLimit = (limit: number | undefined) =>
  Math.min(largestLimit, Math.max(1, limit ?? defaultLimit))

/** Number of bytes at the end of the file in which the last records are searched. */
const tailBytes = 1_048_576
/** Maximum number of records that wait until they can be stored in the database. */
const maxWaiting = 1_000

/**
 * Records the result of each step as a line in a file (JSON Lines) and, once the database is available, as a row. Reads
 * use the rows, or the file if there are none.
 */
export class StepRecordLog {
  readonly #parts: JournalDependencies
  #waiting: RecordView[] = []
  #lastId = 0

  constructor(parts: JournalDependencies) {
    this.#parts = parts
  }

  /**
   * Never throws, because an installation must not fail if its log cannot be written.
   *
   * @param stored sentence for the row; default: the message
   */
  async append(record: NewRecord, stored = record.message): Promise<RecordView> {
    const { clock, log } = this.#parts
    const now = clock.now()
    const view: RecordView = { id: this.#newId(now), ...record, occurredAt: new Date(now).toISOString() }
    await this.#appendLine(view).catch((error: unknown) => {
      log.warn({ reason: errorReason(error) }, 'the execution log of the installation cannot be written')
    })
    this.#waiting = [...this.#waiting, { ...view, message: stored }].slice(-maxWaiting)
    await this.storeWaiting()
    return view
  }

  /** Returns the newest records of one session or of all sessions, oldest first. */
  async newest(limit: number, locale: string, sessionId?: string): Promise<readonly RecordView[]> {
    const read = createReader(this.#parts.translate, locale)
    return (await this.#newest(limit, sessionId)).map((record) => ({ ...record, message: read(record.message) }))
  }

  async #newest(limit: number, sessionId: string | undefined): Promise<readonly RecordView[]> {
    try {
      const where = sessionId === undefined ? {} : { sessionId }
      const rows = await this.#parts.database.fork().find(RecordRow, where, { orderBy: newestFirst, limit })
      if (rows.length > 0) return rows.map(viewOf).reverse()
    } catch {
      // The database is not available or has no such table, so the records are read from the file.
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
      // The database is not available, so these records are kept for the next attempt. If too many wait, the oldest are
      // dropped here; the execution log file still contains all records.
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
   * Inserts records one by one, and skips those that are already stored. A record can be stored already if the response
   * to its commit was lost. Returns the records that could not be stored.
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
   * Returns an id that is larger than all earlier ids, even within a millisecond. Without a database, ids are smaller
   * than all ids of the database.
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

/**
 * Parses a line of the file. Ignores an incomplete line, because a crash can cut off the last line, and the read part
 * of the file can begin in the middle of a line.
 */
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
