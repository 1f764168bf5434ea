import { readFile, stat } from 'node:fs/promises'
import { codeOf, errorTable, fillText, maskedValue, PlinthError } from '@plinth/kernel'
import { type EnvFileEntry, parseEnvFile, type WrittenEnvValue, writeEnvValue } from '@plinth/kernel/host'

/** Errors of the `.env` writer: the problem and the action. No message contains a value. */
const { table } = errorTable({
  'env-key-invalid': `"{{key}}" is not a valid variable name.
    Use letters, digits and "_", and do not start with a digit.`,
  'env-key-not-allowed': `The example file does not list {{key}}, so it is not written.
    Add {{key}} to .env.example, or set it in another source.`,
  'env-value-unrepresentable': `The value of {{key}} cannot be written to the file without being changed.
    Choose a value without this mixture of quotes ' " \`, $, backslashes, line breaks and control characters.`,
  'env-file-malformed': `{{file}} cannot be changed safely, because the product cannot read line {{line}}.
    Correct the line. \`plinth doctor\` describes the problem.`,
  'env-changed-concurrently': `{{file}} is being changed by another process.
    Check the content of the file and try again.`,
  'env-not-writable': `{{file}} cannot be written: {{reason}}.
    Allow the user that runs the product to write the file and its directory, and check the free space.`,
})

export type EnvFileErrorCode = keyof typeof table

/** An error of the `.env` writer. Nothing has been changed. */
export class EnvFileError extends PlinthError {
  override readonly name = 'EnvFileError'
  declare readonly code: EnvFileErrorCode
  /** Values for the placeholders of a translated text. Never values of variables. */
  readonly params: Readonly<Record<string, string>>

  constructor(code: EnvFileErrorCode, params: Readonly<Record<string, string>>, cause?: unknown) {
    super(code, fillText(table[code].text, params), fillText(table[code].fix, params), { cause })
    this.params = params
  }
}

/** A variable at the start of a line, also if commented out, because most variables of an example file are. */
const variable = /^[ \t]*(?:#[ \t]*)?(?:export[ \t]+)?([A-Z_][A-Z0-9_]*)=/gm

/** Returns the names in the example file, or `undefined` if the file does not exist. */
export async function exampleNames(path: string): Promise<ReadonlySet<string> | undefined> {
  const text = await readExampleFile(path)
  return text === undefined ? undefined : new Set([...text.matchAll(variable)].flatMap(([, name]) => name ?? []))
}

/** Returns `undefined` for anything but a regular file, because reading a pipe or a device might never end. */
export async function readExampleFile(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, 'utf8') : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Values by the name of the variable. The mask as a value means that the variable stays unchanged. */
export type EnvChanges = Readonly<Record<string, string>>

/** A warning about a successful change. `params` fill the text and never contain values of variables. */
export interface EnvFileWarning {
  readonly code: 'env-not-shell-compatible' | 'env-mode-restricted' | 'env-owner-changed' | 'env-written-in-place'
  readonly params: Readonly<Record<string, string>>
}

/** Names by the kind of change, each in the order of the changes. */
export interface EnvFileResult {
  /** Existed with another value. */
  readonly changed: readonly string[]
  /** Did not exist. */
  readonly added: readonly string[]
  /** Had the same value already, or the new value is the mask. */
  readonly unchanged: readonly string[]
  readonly warnings: readonly EnvFileWarning[]
}

export interface EnvFilePlan extends EnvFileResult {
  /** The new content of the file. Contains secrets. */
  readonly text: string
}

const validKey = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Returns the `.env` file with new values. Values of existing names are replaced in place, new names are appended, and
 * the rest stays byte for byte. The result is checked with the parser of the kernel.
 * @param text the content of the file, or `undefined` if it does not exist
 * @param file name of the file, for messages
 * @throws EnvFileError `env-key-invalid`, `env-value-unrepresentable`; `env-file-malformed` for a file that the kernel
 * rejects
 */
export function planEnvFile(text: string | undefined, changes: EnvChanges, file = '.env'): EnvFilePlan {
  assertKeys(changes)
  const before = (text ?? '').replace(/^\uFEFF/, '')
  const { entries, faults } = parseEnvFile(before)
  const [problem] = faults
  if (problem !== undefined) throw new EnvFileError('env-file-malformed', { file, line: String(problem.line) })

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

/** Returns the distinct names that a `.env` file sets, in order. Comments are ignored. */
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
  // Some programs use the next line as the value if only blanks follow the "=".
  const isBareEnd = text[start - 1] === '=' && /^\r?(?:\n|$)/.test(rest)
  const blank = rest.startsWith('#') ? ' ' : ''
  return `${text.slice(0, start)}${value === '' && !isBareEnd ? "''" : value}${blank}${rest}`
}

/**
 * Returns a written key if the parser reads the new text differently, for example if a quote extends into lines that
 * existed before.
 */
function misreadKey(
  after: string,
  entries: readonly EnvFileEntry[],
  changes: EnvChanges,
  written: ReadonlyMap<string, WrittenEnvValue>,
): string | undefined {
  const expected = new Map(entries.map(({ name, value }) => [name, value]))
  for (const key of written.keys()) expected.set(key, changes[key] ?? '')
  const { entries: found, faults } = parseEnvFile(after)
  const read = new Map(found.map(({ name, value }) => [name, value]))
  const isSame =
    faults.length === 0 && read.size === expected.size && [...expected].every(([k, v]) => read.get(k) === v)
  return isSame ? undefined : [...written.keys()][0]
}
