import { columnText, reasonOf } from '@plinth/kernel'

/** Directories of the server, on any system; the name of the file itself may stay. */
const directories = /(?:\b[A-Za-z]:)?(?:[\\/][^\s\\/'"`,;:()]+)+[\\/](?=[^\s\\/'"`,;:()])/g
const longest = 500

/**
 * What a person who installs may read of an error: what went wrong, without the directories of the server. The whole
 * error is in the log. (What the databases say holds no statement.)
 */
export function publicReason(error: unknown): string {
  const { code, path } = (error ?? {}) as { readonly code?: unknown; readonly path?: unknown }
  if (typeof path === 'string' && typeof code === 'string') return code
  return columnText(reasonOf(error).replace(directories, ''), longest)
}
