import { Type } from '@plinth/http'
import { service } from '@plinth/kernel'
import type { Static } from 'typebox'

/** Id of the operation to which the back office uploads files. */
export const uploadOperation = 'postAdminStorageUploads'

/** Maximum size of an upload in bytes. */
export const maxUploadBytes = 10 * 1024 * 1024

/** Which files a field accepts. */
export interface UploadRules {
  /** Media types, for example `image/png` or `image/*`. The type of a file depends on the extension of its name. */
  readonly types: readonly string[]
  /** Maximum size in bytes. Default and upper limit: `maxUploadBytes`. */
  readonly maxBytes?: number
}

/**
 * Schema of a body member for a file. The value is the id of an upload. The field of a form uploads the chosen file
 * first, and sends the id. Pass the id to `Uploads.take`.
 */
export const uploadedFile = ({ types, maxBytes = maxUploadBytes }: UploadRules) =>
  Type.String({
    minLength: 1,
    maxLength: 400,
    description: `Id that \`POST /api/v1/admin/storage/uploads\` returned. Types: ${types.join(', ')}.`,
    'x-upload': { operation: uploadOperation, types, maxBytes },
  })

/** A file in a response. A page shows it with a column `file`. */
export const fileView = Type.Object({
  id: Type.String({ description: 'Sent back by a form if the user keeps the file.' }),
  name: Type.String({ description: 'File name.' }),
  url: Type.String({ description: 'Address of the file. That of a private file expires.' }),
})
export type FileView = Static<typeof fileView>

export interface UploadTarget extends UploadRules {
  readonly disk: string
  /** Directory of the plugin on the disk, for example `couriers`. */
  readonly directory: string
  /** Path of the file that the object already has. If the id is this path, the file is kept. */
  readonly current?: string | null
  /** Body member with the id. Errors are then shown at its field. */
  readonly field?: string
}

/**
 * Files that users upload in forms. An upload is stored on the private disk until a plugin takes it. Other uploads are
 * deleted after one day.
 */
export interface Uploads {
  /**
   * Copies an upload to its place and returns the path, which the plugin stores. A second call with the same id and
   * target returns the same path. If the plugin does not store the path, it must delete the file.
   *
   * @throws BusinessError "400" `storage.upload-unknown`, `storage.upload-type`, `storage.file-too-large`
   */
  take(id: string, target: UploadTarget): Promise<string>
  /** Returns the view of a stored file for a response. */
  view(disk: string, path: string): Promise<FileView>
  /** Deletes the uploads that no plugin has taken within a day. Does nothing for an hour after the last call. */
  sweep(signal: AbortSignal): Promise<void>
}

export const uploads = service<Uploads>('uploads', { from: '@plinth/storage' })
