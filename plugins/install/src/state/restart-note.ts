import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCodeOf } from '@plinth/kernel'
import { makePrivateDirectory } from '@plinth/kernel/host'
import type { InstallFiles } from '../files.ts'

/** A small JSON file on the local disk that is written atomically. */
export class AtomicJsonFile<T extends object> {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Returns `undefined` if the file does not exist, and an empty object if it cannot be parsed. */
  async read(): Promise<Partial<T> | undefined> {
    try {
      const content: unknown = JSON.parse(await readFile(this.#path, 'utf8'))
      return typeof content === 'object' && content !== null ? content : {}
    } catch (error) {
      return errorCodeOf(error) === 'ENOENT' ? undefined : {}
    }
  }

  async write(content: T): Promise<void> {
    await makePrivateDirectory(dirname(this.#path))
    const part = `${this.#path}.${process.pid}.part`
    await writeFile(part, `${JSON.stringify(content)}\n`, { mode: 0o600 })
    await rename(part, this.#path)
  }

  async remove(): Promise<void> {
    await rm(this.#path, { force: true })
  }
}

interface Note {
  /** Id of the process that requested the restart. */
  readonly by: string
}

/** Id of this start of the product. */
const thisStart = randomUUID()

/**
 * Stores that a restart was requested. If the product still has the old connection after the restart, it reports this
 * instead of requesting restarts again and again.
 */
export class RestartRequestFile {
  readonly #file: AtomicJsonFile<Note>

  constructor({ files }: { readonly files: Pick<InstallFiles, 'restartNote'> }) {
    this.#file = new AtomicJsonFile(files.restartNote)
  }

  leave(): Promise<void> {
    return this.#file.write({ by: thisStart })
  }

  remove(): Promise<void> {
    return this.#file.remove()
  }

  /** Returns true if a restart was requested before this start. */
  async wasRestarted(): Promise<boolean> {
    const note = await this.#file.read()
    return note !== undefined && note.by !== thisStart
  }
}
