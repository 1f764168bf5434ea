import { type EnvFileEntry, maskedValue, parseEnvFile, type WrittenEnvValue, writeEnvValue } from '@plinth/kernel'
import { EnvFileError } from './env-file-errors.ts'

/** Variables to set, by name. A value that is the fixed mask keeps what is there. */
export type EnvChanges = Readonly<Record<string, string>>

/** Something that the operator should know though it worked. `params` fill the text; they never hold values. */
export interface EnvFileWarning {
  readonly code: 'env-not-shell-compatible' | 'env-mode-restricted' | 'env-owner-changed' | 'env-written-in-place'
  readonly params: Readonly<Record<string, string>>
}

/** Names by what happens to them, each in the order of the changes. */
export interface EnvFileResult {
  /** In the file with another value. */
  readonly changed: readonly string[]
  /** Not in the file yet. */
  readonly added: readonly string[]
  /** Reads as wanted already, or came as the mask. */
  readonly unchanged: readonly string[]
  readonly warnings: readonly EnvFileWarning[]
}

export interface EnvFilePlan extends EnvFileResult {
  /** The whole file afterwards. Holds secrets. */
  readonly text: string
}

const validKey = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * The `.env` file after variables are set: the values of existing names are replaced in place, new names are added at the end,
 * and the rest stays byte for byte. The result is proven by reading it as the kernel does.
 *
 * @param text the file, or `undefined` when there is none
 * @param file its name, for messages
 * @throws EnvFileError `env-key-invalid`, `env-value-unrepresentable`; `env-file-malformed` for a file that the kernel rejects
 */
export function planEnvFile(text: string | undefined, changes: EnvChanges, file = '.env'): EnvFilePlan {
  assertKeys(changes)
  const before = (text ?? '').replace(/^\uFEFF/, '')
  const { entries, faults } = parseEnvFile(before)
  const [fault] = faults
  if (fault !== undefined) throw new EnvFileError('env-file-malformed', { file, line: String(fault.line) })

  const changed: string[] = []
  const added: string[] = []
  const unchanged: string[] = []
  const written = new Map<string, WrittenEnvValue>()
  for (const [key, value] of Object.entries(changes)) {
    const own = entries.filter((entry) => entry.name === key)
    const isThere = own.length > 0 && own.every((entry) => entry.value === value)
    const list = isThere || value === maskedValue ? unchanged : own.length > 0 ? changed : added
    list.push(key)
    if (list !== unchanged) written.set(key, writtenForm(key, value))
  }
  if (written.size === 0) return { text: text ?? '', changed, added, unchanged, warnings: [] }

  const replaced = entries.reduceRight((result, entry) => {
    const value = written.get(entry.name)
    return value === undefined ? result : replaceValue(result, entry, value.text)
  }, before)
  const eol = before.includes('\r\n') ? '\r\n' : '\n'
  const glue = added.length === 0 || replaced === '' || replaced.endsWith('\n') ? '' : eol
  const after = replaced + glue + added.map((key) => `${key}=${written.get(key)?.text}${eol}`).join('')

  const misread = misreadKey(after, entries, changes, written)
  if (misread !== undefined) throw new EnvFileError('env-value-unrepresentable', { key: misread })
  const warnings = [...written]
    .filter(([, { isForShells }]) => !isForShells)
    .map(([key]): EnvFileWarning => ({ code: 'env-not-shell-compatible', params: { key } }))
  return { text: after, changed, added, unchanged, warnings }
}

/** @throws EnvFileError `env-key-invalid` */
export function assertKeys(changes: EnvChanges): void {
  for (const key of Object.keys(changes)) if (!validKey.test(key)) throw new EnvFileError('env-key-invalid', { key })
}

/** The names that a `.env` file sets, commented ones left out, each once and in order. */
export function envFileKeys(text: string): readonly string[] {
  const names = parseEnvFile(text).entries.map(({ name }) => name)
  return [...new Set(names)].filter((name) => validKey.test(name))
}

function writtenForm(key: string, value: string): WrittenEnvValue {
  const written = writeEnvValue(value)
  if (written === undefined) throw new EnvFileError('env-value-unrepresentable', { key })
  return written
}

function replaceValue(text: string, { start, end }: EnvFileEntry, value: string): string {
  const rest = text.slice(end)
  // Some programs take the next line for the value of a variable that has nothing but blanks after its "=".
  const isBareEnd = text[start - 1] === '=' && /^\r?(?:\n|$)/.test(rest)
  const blank = rest.startsWith('#') ? ' ' : ''
  return `${text.slice(0, start)}${value === '' && !isBareEnd ? "''" : value}${blank}${rest}`
}

/** A written key, when the new text is not read as it is meant: a quote may reach into lines that were there before. */
function misreadKey(
  after: string,
  entries: readonly EnvFileEntry[],
  changes: EnvChanges,
  written: ReadonlyMap<string, WrittenEnvValue>,
): string | undefined {
  const wanted = new Map(entries.map(({ name, value }) => [name, value]))
  for (const key of written.keys()) wanted.set(key, changes[key] ?? '')
  const { entries: found, faults } = parseEnvFile(after)
  const read = new Map(found.map(({ name, value }) => [name, value]))
  const isSame = faults.length === 0 && read.size === wanted.size && [...wanted].every(([k, v]) => read.get(k) === v)
  return isSame ? undefined : [...written.keys()][0]
}
