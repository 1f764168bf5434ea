import { nullable, Type } from '@plinth/http'
import { fileView, type Storage, type Uploads, uploadedFile } from '@plinth/storage'

const rules = {
  photo: { types: ['image/png', 'image/jpeg'], maxBytes: 2 * 1024 * 1024 },
  contract: { types: ['application/pdf'] },
} as const

type File = keyof typeof rules
/** Paths of the files of a courier. */
type Files = { readonly [F in File]?: string | null | undefined }

/** Members of a request: ids of uploads. Null removes a file, and a missing member keeps it. */
export const fileFields = {
  photo: Type.Optional(nullable(uploadedFile(rules.photo))),
  contract: Type.Optional(nullable(uploadedFile(rules.contract))),
}

/** Members of a response: the files with their addresses. */
export const fileViews = { photo: nullable(fileView), contract: nullable(fileView) }

/** Files of couriers. Everyone may see the photos, but only users of the page get an address of a contract. */
export class CourierFiles {
  readonly #storage: Storage
  readonly #uploads: Uploads

  constructor(storage: Storage, uploads: Uploads) {
    this.#storage = storage
    this.#uploads = uploads
  }

  #disk(file: File): string {
    return file === 'photo' ? this.#storage.publicDisk : this.#storage.localDisk
  }

  /** Copies uploads to their place. @returns the new paths; without an upload, the current path */
  async take(sent: Files, current: Files) {
    const taken = async (file: File) => {
      const id = sent[file]
      const known = current[file] ?? null
      if (id === undefined || id === null) return id === null ? null : known
      const place = { disk: this.#disk(file), directory: 'couriers', field: file }
      return this.#uploads.take(id, { ...rules[file], ...place, current: known })
    }
    return { photo: await taken('photo'), contract: await taken('contract') }
  }

  /** Deletes the files that are no longer used. */
  async deleteOthers(former: Files, used: Files): Promise<void> {
    for (const file of ['photo', 'contract'] as const) {
      const path = former[file]
      if (path && path !== used[file]) await this.#storage.delete(this.#disk(file), path)
    }
  }

  /** Returns the files of a courier for a response. */
  async view(files: Files) {
    const view = (file: File) => {
      const path = files[file]
      return path ? this.#uploads.view(this.#disk(file), path) : null
    }
    return { photo: await view('photo'), contract: await view('contract') }
  }
}
