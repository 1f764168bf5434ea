import { randomUUID } from 'node:crypto'
import { open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, errorCodeOf } from '@plinth/kernel'
import { storageError } from './declarations.ts'

/**
 * Suffix of the heartbeat file of an unfinished file. The writer rewrites it regularly, because the content may arrive
 * slowly.
 */
const beatSuffix = '.beat'
const beatMs = 10_000
/**
 * A writer without a heartbeat for this time in milliseconds counts as dead. It is much longer than the interval,
 * because network file systems report changes up to a minute late.
 */
const leaseMs = 120_000

const isMissing = (error: unknown) => errorCodeOf(error) === 'ENOENT'

/**
 * Unfinished files, in a separate directory. The writer of each file holds a lease and renews it with a heartbeat file.
 */
export class UnfinishedFiles {
  readonly directory: string
  readonly #clock: Clock

  /** @param directory absolute path of an existing directory */
  constructor(directory: string, clock: Clock) {
    this.directory = directory
    this.#clock = clock
  }

  /**
   * Writes and syncs an unfinished file, then calls `settle`. If a step fails, the file is removed.
   *
   * @param settle moves the file to its path
   * @throws errors of the content and of `settle`; PlinthError `PLINTH_STORAGE_DRAFT_LOST`
   */
  async write(
    content: AsyncIterable<Uint8Array>,
    mode: number,
    settle: (draft: string) => Promise<void>,
  ): Promise<void> {
    const draft = join(this.directory, randomUUID())
    const ended = new AbortController()
    const beating = this.#beat(draft + beatSuffix, ended.signal)
    try {
      const handle = await open(draft, 'wx', mode)
      try {
        await handle.writeFile(content)
        await handle.sync()
        // This process paused for longer than its lease, and another process removed the file.
        if ((await handle.stat()).nlink === 0) throw storageError('PLINTH_STORAGE_DRAFT_LOST')
      } finally {
        await handle.close()
      }
      await settle(draft)
    } catch (error) {
      await rm(draft, { force: true })
      throw error
    } finally {
      ended.abort()
      await beating
      await rm(draft + beatSuffix, { force: true })
    }
  }

  /** Writes, syncs and removes a small file. Throws system errors. */
  async prove(): Promise<void> {
    const proof = async function* () {
      yield Buffer.from('.')
    }
    await this.write(proof(), 0o600, (draft) => rm(draft))
  }

  async sweep(signal: AbortSignal): Promise<void> {
    const names = await readdir(this.directory).catch((error: unknown) => {
      if (isMissing(error)) return []
      throw error
    })
    if (names.length === 0) return
    const now = await this.#now()
    const living = new Map<string, number>()
    for (const name of names) {
      const writer = writerOf(name)
      const seenAt = (await this.#changedAt(name)) ?? 0
      living.set(writer, Math.max(living.get(writer) ?? 0, seenAt))
    }
    for (const name of names) {
      if (signal.aborted) return
      if ((living.get(writerOf(name)) ?? 0) + leaseMs < now) await rm(join(this.directory, name), { force: true })
    }
  }

  /** Writes the heartbeat. Until the first one, the modification time of the unfinished file is used. */
  async #beat(file: string, ended: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(beatMs, ended)
      if (ended.aborted) return
      // If the disk is not writable, the writer gets the same error.
      await writeFile(file, '.', { mode: 0o600 }).catch(() => {})
    }
  }

  /** Returns the time of the file system, because processes on different machines compare it with heartbeats. */
  async #now(): Promise<number> {
    const name = randomUUID()
    try {
      await writeFile(join(this.directory, name), '.', { mode: 0o600 })
      return (await this.#changedAt(name)) ?? 0
    } finally {
      await rm(join(this.directory, name), { force: true })
    }
  }

  async #changedAt(name: string): Promise<number | undefined> {
    try {
      return (await stat(join(this.directory, name))).mtimeMs
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }
}

const writerOf = (name: string) => (name.endsWith(beatSuffix) ? name.slice(0, -beatSuffix.length) : name)
