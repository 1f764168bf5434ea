import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCodeOf } from '../errors/coded-error.ts'
import { makePrivateDirectory } from './private-files.ts'

/** Reason why the previous settings were restored. */
export interface RevertedTrial {
  /** The `about` text passed to `begin`. */
  readonly about: string
  /** Code of the error that prevented the start. */
  readonly code: string
  /** Message of the error that prevented the start, with secrets masked. */
  readonly reason: string
}

/** Stored data of a trial. The previous settings contain secrets, so this file is deleted at the end of the trial. */
interface TrialRecord {
  readonly patienceMs: number
  readonly about: string
  /**
   * Content of the settings file before the change. Null if there was no file. Absent after the content was restored.
   */
  readonly previous?: string | null
  readonly returned?: RevertedTrial
}

/**
 * A trial of new settings that were saved while the product ran. It ends with the first successful start. If no start
 * succeeds in time, `plinth start` restores the previous settings file. The content of the previous file is stored next
 * to it, with the additional extension `.trial`, readable only by the owner.
 */
export class SettingsTrial {
  readonly #settingsFile: string
  readonly #path: string

  /** @param settingsFile absolute path */
  constructor(settingsFile: string) {
    this.#settingsFile = settingsFile
    this.#path = `${settingsFile}.trial`
  }

  /**
   * Stores the current settings. Call this before they are changed. If a trial is already open, its stored settings
   * stay, because the newer ones may not work.
   *
   * @param trial `patienceMs`: maximum time for attempts to start, in milliseconds; `about`: a text that `takeReturned`
   * returns
   * @throws the error of the file system; the caller should then not change the settings
   */
  async begin(trial: { readonly patienceMs: number; readonly about: string }): Promise<void> {
    const open = await this.#read()
    const previous = open?.previous ?? (await textOf(this.#settingsFile))
    await this.#write({ ...trial, previous })
  }

  /** Returns the maximum time for attempts to start in milliseconds. Returns `undefined` if no trial is open. */
  async patienceMs(): Promise<number | undefined> {
    const open = await this.#read()
    return open?.previous === undefined ? undefined : open.patienceMs
  }

  /** Ends the trial. Call this when the product runs. */
  async end(): Promise<void> {
    await rm(this.#path, { force: true })
  }

  /**
   * Restores the previous settings. Stores the reason first, so that it is not lost if the process is killed.
   *
   * @throws the error of the file system; the trial then stays open
   */
  async giveBack({ code, reason }: Omit<RevertedTrial, 'about'>): Promise<void> {
    const open = await this.#read()
    if (open?.previous === undefined) return
    const { previous, ...rest } = open
    const returned = { about: open.about, code, reason }
    await this.#write({ ...open, returned })
    if (previous === null) await rm(this.#settingsFile, { force: true })
    else await replace(this.#settingsFile, previous)
    await this.#write({ ...rest, returned })
  }

  /** Returns the reason why the last trial failed, and deletes it. Returns `undefined` if no trial failed. */
  async takeReturned(): Promise<RevertedTrial | undefined> {
    const { returned, previous } = (await this.#read()) ?? {}
    if (returned === undefined || previous !== undefined) return undefined
    await this.end()
    return returned
  }

  async #read(): Promise<TrialRecord | undefined> {
    try {
      return JSON.parse(await readFile(this.#path, 'utf8'))
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
      throw error
    }
  }

  async #write(record: TrialRecord): Promise<void> {
    await makePrivateDirectory(dirname(this.#path))
    await replace(this.#path, `${JSON.stringify(record)}\n`)
  }
}

async function textOf(file: string): Promise<string | null> {
  return readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
}

/** Replaces a file atomically. Only the owner can read the new file. */
async function replace(file: string, text: string): Promise<void> {
  const part = `${file}.${process.pid}.part`
  try {
    await writeFile(part, text, { mode: 0o600 })
    await rename(part, file).catch(async (error: NodeJS.ErrnoException) => {
      // A file that is a separate mount, as in containers, cannot be replaced. Its content is overwritten instead.
      if (error.code !== 'EBUSY' && error.code !== 'EXDEV') throw error
      await copyFile(part, file)
    })
  } finally {
    await rm(part, { force: true })
  }
}
