import { randomUUID } from 'node:crypto'
import type { InstallFiles } from '../files.ts'
import { NoteFile } from '../state/note-file.ts'

interface Note {
  /** Process that asked for the restart. */
  readonly by: string
}

/** Different for each start of the product. */
const thisStart = randomUUID()

/**
 * Remembers over a restart that one was asked for, so that a product that comes back with the old connection says so
 * instead of asking for ever.
 */
export class RestartNote {
  readonly #file: NoteFile<Note>

  constructor({ files }: { readonly files: Pick<InstallFiles, 'restartNote'> }) {
    this.#file = new NoteFile(files.restartNote)
  }

  leave(): Promise<void> {
    return this.#file.write({ by: thisStart })
  }

  remove(): Promise<void> {
    return this.#file.remove()
  }

  /** Whether a restart was asked for before the last start. */
  async wasRestarted(): Promise<boolean> {
    const note = await this.#file.read()
    return note !== undefined && note.by !== thisStart
  }
}
