import { defineBusinessErrors, errorTable, type PermissionDeclaration } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

export const storageError = errorTable(
  {
    PLINTH_STORAGE_DISK_UNKNOWN: `Key "{{key}}" specifies the unknown disk "{{disk}}". Available disks: {{disks}}.
    Specify one of these disks, or load and configure the plugin that provides the disk.`,
    PLINTH_STORAGE_DISK_VISIBILITY: `Key "{{key}}" needs a {{needed}} disk, but disk "{{disk}}" is {{visibility}}.
    Specify a {{needed}} disk, so that private files are never stored where everyone can read them.`,
    PLINTH_STORAGE_DISK_NAME: `"{{disk}}" cannot be used as the name of a disk.
    Use a unique name of lower-case words with hyphens. The names "public", "local" and "directory" are reserved.`,
    PLINTH_STORAGE_URL_GUARD: `The guard "{{name}}" of signed URLs cannot be used: its name or its subject is unknown, already in use or malformed.
    Register each guard once with guardUrls() during setup. Its name has lower-case words with hyphens; its subject has letters, digits and \`._-\`.`,
    PLINTH_STORAGE_DRAFT_LOST: `The file that was being written was removed, because this process did not respond for so long that another one considered it dead.
    Write the file again. If it happens often, find out what suspends the process: its host, its container, or long synchronous work.`,
    PLINTH_STORAGE_DISK_UNAVAILABLE: `Disk "{{disk}}" cannot be used: {{reason}}.
    Free space or inodes, make the file system writable, raise the limit of open files of the process, or repair the server of the disk.`,
    PLINTH_STORAGE_DISK_DIRECTORY: `The directory of disk "{{disk}}" cannot be used: {{reason}}.
    Correct platform.storage.root, or allow the process to read and write the directory.`,
    PLINTH_STORAGE_SIGNING_KEY_FILE: `The file {{file}} with the keys that sign URLs cannot be used: {{reason}}.
    Allow the process to read and write it, and write at least 32 characters per line. Or set platform.storage.signing-key.`,
  },
  { unavailable: ['PLINTH_STORAGE_DISK_UNAVAILABLE'] },
)

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('storage', en.storage, {
  'disk-unknown': '404',
  /** The message does not contain the path, because a path can contain any text. */
  'path-invalid': '400',
  'disk-disabled': '503',
  'file-unknown': '404',
  'file-too-large': '400',
  'file-exists': '409',
  'path-taken': '409',
  'upload-unknown': '400',
  'upload-type': '400',
  /** The user has used up the quota of the day. */
  'upload-quota': '429',
  /** All users together have used up the quota of the day. */
  'upload-total-quota': '503',
  'path-outside': '409',
  'signature-invalid': '403',
  'url-expired': '403',
  'url-revoked': '403',
})

export const permissionCodes = { diskView: 'storage:disk:view', upload: 'storage:file:upload' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.diskView,
    displayName: { en: 'View storage disks and their usage', 'zh-CN': '查看存储磁盘及其用量' },
  },
  {
    code: permissionCodes.upload,
    displayName: { en: 'Upload files in forms', 'zh-CN': '在表单中上传文件' },
  },
]
