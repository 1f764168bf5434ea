import { copyFile, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from '../errors/coded-error.ts'
import { makePrivateDirectory } from './private-files.ts'

/** Why a product went back to its previous settings. */
export interface ReturnedTrial {
  /** What `begin` was told of the settings. */
  readonly about: string
  /** Code of the error that the start ended with. */
  readonly code: string
  /** That error, with secrets masked. */
  readonly reason: string
}

/** What is kept of a trial. The previous settings hold secrets, so they go when it has ended. */
interface TrialRecord {
  readonly settingsFile: string
  readonly patienceMs: number
  readonly about: string
  /** Text of the settings file before it was changed; null for no file; absent once it has been put back. */
  readonly previous?: string | null
  readonly returned?: ReturnedTrial
}

/**
 * A settings file that was changed while the product ran, until a start has shown that the product runs on it. What the
 * file held before is kept in `data/settings-trial.json` below the root of the product, for its owner alone, and put back
 * when no start succeeds in time: see `plinth start`.
 */
export class SettingsTrial {
  readonly #path: string

  /** @param root directory of the product */
  constructor(root: string) {
    this.#path = join(root, 'data', 'settings-trial.json')
  }

  /**
   * Keeps the settings as they are now; call it before they are changed. A trial that is open already keeps what it has:
   * nobody knows yet whether the product runs on anything newer.
   *
   * @param settingsFile absolute path
   * @param trial `patienceMs`: how long starts are tried, in milliseconds; `about`: handed back by `takeReturned`
   * @throws what the file system says; nothing should be changed then
   */
  async begin(settingsFile: string, trial: { readonly patienceMs: number; readonly about: string }): Promise<void> {
    const open = await this.#read()
    const previous = open?.previous ?? (await textOf(settingsFile))
    await this.#write({ ...trial, settingsFile, previous })
  }

  /** How long starts are to be tried, in milliseconds; `undefined` when no trial is open. */
  async patienceMs(): Promise<number | undefined> {
    const open = await this.#read()
    return open?.previous === undefined ? undefined : open.patienceMs
  }

  /** The product runs on the settings, or on others that need no trial. */
  async end(): Promise<void> {
    await rm(this.#path, { force: true })
  }

  /**
   * Puts the previous settings back. The reason is kept before that, so that it is there whatever happens in between.
   *
   * @throws what the file system says; the trial stays open then
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

  /** Why the last trial was given up, once; `undefined` when it was not. */
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

/** Whole or not at all, for its owner alone. */
async function replace(file: string, text: string): Promise<void> {
  const part = `${file}.${process.pid}.part`
  try {
    await writeFile(part, text, { mode: 0o600 })
    await rename(part, file).catch(async (error: NodeJS.ErrnoException) => {
      // A file that is mounted by itself, as containers do, can be filled but not replaced.
      if (error.code !== 'EBUSY' && error.code !== 'EXDEV') throw error
      await copyFile(part, file)
    })
  } finally {
    await rm(part, { force: true })
  }
}
