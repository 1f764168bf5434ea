import { randomBytes, randomUUID } from 'node:crypto'
import { link, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Clock, errorCodeOf, errorReason } from '@plinth/kernel'
import { makePrivateDirectory } from '@plinth/kernel/host'
import { storageError } from './declarations.ts'

const minKeyLength = 32
/** Age in milliseconds after which an unfinished key file is certainly abandoned. */
const draftLifetimeMs = 3_600_000

/**
 * Keys that sign URLs: the configured keys or, if none is configured, the lines of a file. The first key signs, and all
 * keys verify. The file is created when the first URL is signed. If several processes create it, all use the same file.
 */
export class SigningKeys {
  readonly #configured: () => string
  readonly #file: string
  readonly #clock: Pick<Clock, 'now'>
  /** Lines of the file; undefined until it is read. */
  #filed: readonly string[] | undefined

  /**
   * @param configured returns the value of `platform.storage.signing-key`
   * @param file absolute path
   */
  constructor(configured: () => string, file: string, clock: Pick<Clock, 'now'>) {
    this.#configured = configured
    this.#file = file
    this.#clock = clock
  }

  /**
   * Returns the key that signs new URLs.
   *
   * @throws PlinthError `PLINTH_STORAGE_SIGNING_KEY_FILE`
   */
  async signing(): Promise<string> {
    const keys = await this.verifying()
    const [first] = keys.length > 0 ? keys : await this.#create()
    return first as string
  }

  /**
   * Returns all keys, or an empty list if no URL has been signed yet.
   *
   * @throws PlinthError `PLINTH_STORAGE_SIGNING_KEY_FILE`
   */
  async verifying(): Promise<readonly string[]> {
    const configured = this.#configured()
    if (configured !== '') return configured.split(',')
    if (this.#filed === undefined) {
      this.#filed = await this.#read()
      if (this.#filed !== undefined) await this.#removeDrafts()
    }
    return this.#filed ?? []
  }

  async #read(): Promise<readonly string[] | undefined> {
    let text: string
    try {
      text = await readFile(this.#file, 'utf8')
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return undefined
      throw this.#unusable(error)
    }
    const lines = text.split('\n').map((line) => line.trim())
    const keys = lines.filter((line) => line !== '')
    if (keys.length === 0 || keys.some((line) => line.length < minKeyLength)) {
      throw this.#unusable(new Error('a line is too short'))
    }
    return keys
  }

  async #removeDrafts(): Promise<void> {
    const directory = dirname(this.#file)
    const names = await readdir(directory).catch(() => [])
    for (const name of names.filter((one) => one.startsWith(`${basename(this.#file)}.`))) {
      const path = join(directory, name)
      const written = await stat(path).catch(() => undefined)
      const age = written && this.#clock.now() - written.mtimeMs
      if (age !== undefined && age > draftLifetimeMs) await rm(path, { force: true }).catch(() => {})
    }
  }

  async #create(): Promise<readonly string[]> {
    const draft = `${this.#file}.${randomUUID()}`
    try {
      await makePrivateDirectory(dirname(this.#file))
      const handle = await open(draft, 'wx', 0o600)
      try {
        await handle.writeFile(`${randomBytes(32).toString('base64')}\n`)
        await handle.sync()
      } finally {
        await handle.close()
      }
      await link(draft, this.#file)
    } catch (error) {
      // Another process has created the file first, so its key is used.
      if (errorCodeOf(error) !== 'EEXIST') throw this.#unusable(error)
    } finally {
      await rm(draft, { force: true })
    }
    return this.verifying()
  }

  #unusable(error: unknown) {
    const reason = errorCodeOf(error) ?? errorReason(error)
    return storageError('PLINTH_STORAGE_SIGNING_KEY_FILE', { file: this.#file, reason }, error)
  }
}
