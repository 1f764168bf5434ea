import { defineBusinessErrors, errorTable, type PermissionDeclaration } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }

/** Errors that an operator or a plugin author must fix. */
export const storageError = errorTable(
  {
    PLINTH_STORAGE_DISK_UNKNOWN: `Key "{{key}}" names the disk "{{disk}}"; there are {{disks}}.
    Name one of these, or load the plugin that brings the disk.`,
    PLINTH_STORAGE_DISK_VISIBILITY: `Key "{{key}}" needs a {{needed}} disk, and "{{disk}}" is {{visibility}}.
    Name a disk of the other kind: private files must not end up where everybody can read them.`,
    PLINTH_STORAGE_DISK_NAME: `A disk cannot be named "{{disk}}".
    Contribute it under a name of its own, in lower-case words with hyphens, other than "public" and "local".`,
    PLINTH_STORAGE_URL_GUARD: `The guard of signed addresses "{{name}}" cannot be used: it is unknown, taken or malformed, or its subject is.
    Add it once by guardUrls() during set-up, under lower-case words with hyphens; a subject has letters, digits and \`._-\`.`,
    PLINTH_STORAGE_DRAFT_LOST: `What was written is gone: this process stood still for so long that others took it for dead.
    Write the file again. If it happens often, find out what stops the process: its host, its container, long work.`,
    PLINTH_STORAGE_DISK_UNAVAILABLE: `Disk "{{disk}}" cannot be used: {{reason}}.
    Free space or inodes, make the file system writable, or raise the limit of open files of the process.`,
    PLINTH_STORAGE_DISK_DIRECTORY: `The directory of disk "{{disk}}" cannot be used: {{reason}}.
    Correct platform.storage.root, or give the process the right to read and write the directory.`,
    PLINTH_STORAGE_SIGNING_KEY_FILE: `The file {{file}} with the keys that sign URLs cannot be used: {{reason}}.
    Let the process read and write it, with at least 32 characters a line, or set platform.storage.signing-key.`,
  },
  { unavailable: ['PLINTH_STORAGE_DISK_UNAVAILABLE'] },
)

export const messages = { en, 'zh-CN': zhCN }

export const businessError = defineBusinessErrors('storage', en.storage, {
  'disk-unknown': '404',
  /** The text does not contain the path, because a path may contain anything. */
  'path-invalid': '400',
  'disk-disabled': '503',
  'file-unknown': '404',
  'file-too-large': '400',
  'path-taken': '409',
  'path-outside': '409',
  'signature-invalid': '403',
  'url-expired': '403',
  'url-revoked': '403',
})

export const permissionCodes = { diskView: 'storage:disk:view' } as const

export const permissions: readonly PermissionDeclaration[] = [
  {
    code: permissionCodes.diskView,
    displayName: { en: 'View storage disks and what they hold', 'zh-CN': '查看存储磁盘及其占用' },
  },
]
