import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { codeOf, makePrivateDirectory } from '@plinth/kernel'

/** A small JSON document on the local disk: there whole, or not at all. */
export class NoteFile<T extends object> {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** `undefined` when it is not there. What cannot be read is there. */
  async read(): Promise<Partial<T> | undefined> {
    try {
      const content: unknown = JSON.parse(await readFile(this.#path, 'utf8'))
      return typeof content === 'object' && content !== null ? content : {}
    } catch (error) {
      return codeOf(error) === 'ENOENT' ? undefined : {}
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
