import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../errors/coded-error.ts'
import { makePrivateDirectory } from './private-files.ts'

/** Reason why a product returned to its previous settings. */
export interface ReturnedTrial {
  /** The `about` text passed to `begin`. */
  readonly about: string
  /** Code of the error of the start. */
  readonly code: string
  /** Message of that error, with secrets masked. */
  readonly reason: string
}

/** The stored data of a trial. The previous settings contain secrets, so they are deleted when it ends. */
interface TrialRecord {
  readonly settingsFile: string
  readonly patienceMs: number
  readonly about: string
  /** Text of the settings file before the change; null if there was no file; absent after it was restored. */
  readonly previous?: string | null
  readonly returned?: ReturnedTrial
}

/**
 * A settings file that was changed while the product ran, until a start has succeeded with it. The previous content is
 * stored in `data/settings-trial.json` below the root of the product, readable only by its owner. It is restored if no
 * start succeeds in time: see `plinth start`.
 */
export class SettingsTrial {
  readonly #path: string

  /** @param root directory of the product */
  constructor(root: string) {
    this.#path = join(root, 'data', 'settings-trial.json')
  }

  /**
   * Stores the current settings; call it before they are changed. If a trial is open, its stored settings stay, because
   * it is unknown whether the product runs with newer ones.
   *
   * @param settingsFile absolute path
   * @param trial `patienceMs`: maximum time of start attempts, in milliseconds; `about`: returned by `takeReturned`
   * @throws the error of the file system; the settings should not be changed then
   */
  async begin(settingsFile: string, trial: { readonly patienceMs: number; readonly about: string }): Promise<void> {
    const open = await this.#read()
    const previous = open?.previous ?? (await textOf(settingsFile))
    await this.#write({ ...trial, settingsFile, previous })
  }

  /** Returns the maximum time of start attempts in milliseconds, or `undefined` if no trial is open. */
  async patienceMs(): Promise<number | undefined> {
    const open = await this.#read()
    return open?.previous === undefined ? undefined : open.patienceMs
  }

  /** Ends the trial, because the product runs with these or with other settings. */
  async end(): Promise<void> {
    await rm(this.#path, { force: true })
  }

  /**
   * Restores the previous settings. The reason is stored first, so that it survives an interruption.
   *
   * @throws the error of the file system; the trial stays open then
   */
  async giveBack({ code, reason }: Omit<ReturnedTrial, 'about'>): Promise<void> {
    const open = await this.#read()
    if (open?.previous === undefined) return
    const { previous, ...rest } = open
    const returned = { about: open.about, code, reason }
    await this.#write({ ...open, returned })
    if (previous === null) await rm(open.settingsFile, { force: true })
    else await replace(open.settingsFile, previous)
    await this.#write({ ...rest, returned })
  }

  /** Returns once the reason why the last trial failed; `undefined` if it did not fail. */
  async takeReturned(): Promise<ReturnedTrial | undefined> {
    const { returned, previous } = (await this.#read()) ?? {}
    if (returned === undefined || previous !== undefined) return undefined
    await this.end()
    return returned
  }

  async #read(): Promise<TrialRecord | undefined> {
    try {
      return JSON.parse(await readFile(this.#path, 'utf8'))
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
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

/** Replaces the file atomically, readable only by its owner. */
async function replace(file: string, text: string): Promise<void> {
  const part = `${file}.${process.pid}.part`
  try {
    await writeFile(part, text, { mode: 0o600 })
    await rename(part, file).catch(async (error: NodeJS.ErrnoException) => {
      // A file that is mounted on its own, as in containers, can be written but not replaced.
      if (error.code !== 'EBUSY' && error.code !== 'EXDEV') throw error
      await copyFile(part, file)
    })
  } finally {
    await rm(part, { force: true })
  }
}
