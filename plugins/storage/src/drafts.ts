import { randomUUID } from 'node:crypto'
import { open, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Clock, codeOf } from '@plinth/kernel'
import { storageError } from './errors.ts'

/** Beside a draft: a small file that its writer writes again and again, because a draft may wait for its content for long. */
const beatSuffix = '.beat'
const beatMs = 10_000
/**
 * A writer that has shown no sign of life for so long is dead. Far more than a beat, because file systems of the network tell
 * of changes up to a minute late.
 */
const leaseMs = 120_000

const isMissing = (error: unknown) => codeOf(error) === 'ENOENT'

/** Files that are being written, in a directory of their own, each under the lease of its writer. */
export class Drafts {
  readonly directory: string
  readonly #clock: Clock

  /** @param directory absolute path; made by others */
  constructor(directory: string, clock: Clock) {
    this.directory = directory
    this.#clock = clock
  }

  /**
   * Writes a new file that a loss of power does not undo, and has it put in its place. Whatever fails, no draft stays.
   *
   * @param settle moves the file away
   * @throws what the content and `settle` throw; PlinthError `PLINTH_STORAGE_DRAFT_LOST`
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
        // This process stood still for longer than its lease: others have removed what it wrote.
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

  /** Writes and syncs a small draft, and removes it. Throws what the system reports. */
  async prove(): Promise<void> {
    const proof = async function* () {
      yield Buffer.from('.')
    }
    await this.write(proof(), 0o600, (draft) => rm(draft))
  }

  /** Removes the drafts of writers that died. */
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

  /** Shows that the writer lives. The first bytes of the draft do so for the first time. */
  async #beat(file: string, ended: AbortSignal): Promise<void> {
    for (;;) {
      await this.#clock.sleep(beatMs, ended)
      if (ended.aborted) return
      // A disk that cannot be written to will tell the writer itself.
      await writeFile(file, '.', { mode: 0o600 }).catch(() => {})
    }
  }

  /** The time of the file system, by which all signs of life are dated, whichever process shows them. */
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
