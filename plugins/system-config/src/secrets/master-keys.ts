import { randomUUID } from 'node:crypto'
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCodeOf, type Logger } from '@plinth/kernel'
import { makePrivateDirectory } from '@plinth/kernel/host'
import { formatMasterKey, type MasterKey, newMasterKey, parseMasterKey } from './secret-box.ts'

export interface Keyring {
  /** Key for encryption. `undefined` if no key exists or the keys are unusable. */
  readonly current: MasterKey | undefined
  readonly byId: ReadonlyMap<string, MasterKey>
  /** Why the keys are unusable. The text contains no key. */
  readonly problem: string | undefined
}

interface MasterKeyOptions {
  /** Value of `platform.system-config.master-key`. */
  readonly configured: string
  readonly file: string
  readonly log: Logger
}

const variable = 'PLATFORM_SYSTEM_CONFIG_MASTER_KEY'

/**
 * Reads the master keys. A configured key encrypts. The keys in the file also decrypt, so that a product can change
 * from the file to a configured key. The file contains one key per line, the current key first. It is read for each
 * use, because another process may have rotated the keys.
 */
export class MasterKeys {
  readonly #configured: readonly string[]
  readonly #options: MasterKeyOptions
  #hasWarned = false

  constructor(options: MasterKeyOptions) {
    this.#options = options
    this.#configured = options.configured
      .split(',')
      .map((text) => text.trim())
      .filter((text) => text !== '')
  }

  /** True if the operator has configured the keys. Then the file is never written. */
  get isConfigured(): boolean {
    return this.#configured.length > 0
  }

  get file(): string {
    return this.#options.file
  }

  async read(): Promise<Keyring> {
    const configured = parseAll(this.#configured, variable)
    const filed = await this.#readFile()
    const own = this.isConfigured ? configured : filed
    return {
      current: own.problem === undefined ? own.keys[0] : undefined,
      byId: new Map([...configured.keys, ...filed.keys].map((key) => [key.id, key])),
      problem: own.problem,
    }
  }

  /**
   * Creates the file with a first key. If another process creates it at the same time, uses the key of that process.
   */
  async create(): Promise<Keyring> {
    await makePrivateDirectory(dirname(this.file))
    const draft = await this.#writeDraft([newMasterKey()])
    try {
      await link(draft, this.file)
      await this.#syncDirectory()
      this.#options.log.info({ file: this.file }, 'master key file created; store a backup of it')
    } catch (error) {
      if (errorCodeOf(error) !== 'EEXIST') throw error
    } finally {
      await rm(draft, { force: true })
    }
    return this.read()
  }

  async addCurrent(): Promise<Keyring> {
    const { keys } = await this.#readFile()
    await this.#replaceFile([newMasterKey(), ...keys])
    return this.read()
  }

  async keepOnly(ids: ReadonlySet<string>): Promise<void> {
    const { keys } = await this.#readFile()
    const kept = keys.filter(({ id }, index) => index === 0 || ids.has(id))
    if (kept.length < keys.length) await this.#replaceFile(kept)
  }

  async #replaceFile(keys: readonly MasterKey[]): Promise<void> {
    await makePrivateDirectory(dirname(this.file))
    await rename(await this.#writeDraft(keys), this.file)
    await this.#syncDirectory()
  }

  /** A secret must only be encrypted after the key file is stored safely, so that it survives a power loss. */
  async #syncDirectory(): Promise<void> {
    if (process.platform === 'win32') return
    const directory = await open(dirname(this.file), 'r')
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  }

  /** Writes the keys to a temporary file, which then replaces the key file. */
  async #writeDraft(keys: readonly MasterKey[]): Promise<string> {
    const draft = `${this.file}.${randomUUID()}`
    const handle = await open(draft, 'wx', 0o600)
    try {
      await handle.writeFile(keys.map((key) => `${formatMasterKey(key)}\n`).join(''))
      await handle.sync()
    } finally {
      await handle.close()
    }
    return draft
  }

  async #readFile(): Promise<Parsed> {
    let text: string
    try {
      text = await readFile(this.file, 'utf8')
      await this.#checkMode()
    } catch (error) {
      const code = errorCodeOf(error) ?? 'unknown error'
      return code === 'ENOENT'
        ? { keys: [], problem: undefined }
        : { keys: [], problem: `The master key file ${this.file} cannot be read: ${code}.` }
    }
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    if (lines.length === 0) return { keys: [], problem: `The master key file ${this.file} is empty.` }
    return parseAll(
      lines.map((line) => line.trim()),
      this.file,
    )
  }

  async #checkMode(): Promise<void> {
    if (this.#hasWarned || process.platform === 'win32') return
    const { mode } = await stat(this.file)
    if ((mode & 0o077) === 0) return
    this.#hasWarned = true
    const found = (mode & 0o777).toString(8)
    this.#options.log.warn(
      { file: this.file, mode: found },
      'other users can read the master key file; run chmod 600 on it',
    )
  }
}

interface Parsed {
  readonly keys: readonly MasterKey[]
  readonly problem: string | undefined
}

function parseAll(texts: readonly string[], place: string): Parsed {
  const keys = texts.map(parseMasterKey)
  const broken = keys.indexOf(undefined) + 1
  return {
    keys: keys.filter((key) => key !== undefined),
    problem: broken === 0 ? undefined : `Key ${broken} of ${place} is not 32 bytes in base64 or hex.`,
  }
}
