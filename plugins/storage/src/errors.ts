import { PlinthError } from '@plinth/kernel'

/** Every fault that an operator or an author must mend: what happened, and what to do about it. `{name}` marks a detail. */
export const storageErrors = {
  PLINTH_STORAGE_DISK_UNKNOWN: {
    text: 'Key "{key}" names the disk "{disk}"; there are {disks}.',
    fix: 'Name one of these, or load the plugin that brings the disk.',
  },
  PLINTH_STORAGE_DISK_VISIBILITY: {
    text: 'Key "{key}" needs a {needed} disk, and "{disk}" is {visibility}.',
    fix: 'Name a disk of the other kind: private files must not end up where everybody can read them.',
  },
  PLINTH_STORAGE_DISK_NAME: {
    text: 'A disk cannot be named "{disk}".',
    fix: 'Contribute it under a name of its own, in lower-case words with hyphens, other than "public" and "local".',
  },
  PLINTH_STORAGE_URL_GUARD: {
    text: 'The guard of signed addresses "{name}" cannot be used: it is unknown, taken or malformed, or its subject is.',
    fix: 'Add it once by guardUrls() during set-up, under lower-case words with hyphens; a subject has letters, digits and `._-`.',
  },
  PLINTH_STORAGE_DRAFT_LOST: {
    text: 'What was written is gone: this process stood still for so long that others took it for dead.',
    fix: 'Write the file again. If it happens often, find out what stops the process: its host, its container, long work.',
  },
  PLINTH_STORAGE_SIGNING_KEY_FILE: {
    text: 'The file {file} with the keys that sign URLs cannot be used: {reason}.',
    fix: 'Let the process read and write it, with at least 32 characters a line, or set platform.storage.signing-key.',
  },
} as const satisfies Record<string, { readonly text: string; readonly fix: string }>

export type StorageErrorCode = keyof typeof storageErrors

export function storageError(
  code: StorageErrorCode,
  details: Readonly<Record<string, string | number>> = {},
  cause?: unknown,
): PlinthError {
  const { text, fix } = storageErrors[code]
  const message = text.replace(/\{(\w+)\}/g, (whole, name: string) => String(details[name] ?? whole))
  return new PlinthError(code, message, fix, { cause })
}
