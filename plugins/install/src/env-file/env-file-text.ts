import { readFile, stat } from 'node:fs/promises'
import { errorCodeOf, errorTable, fillText, maskedValue, PlinthError } from '@plinth/kernel'
import { type EnvFileEntry, parseEnvFile, type WrittenEnvValue, writeEnvValue } from '@plinth/kernel/host'

/** Errors of the `.env` writer. The messages contain no values. */
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

/** An error of the `.env` writer. The file was not changed. */
export class EnvFileError extends PlinthError {
  override readonly name = 'EnvFileError'
  declare readonly code: EnvFileErrorCode
  /** Placeholder values for a translated message. They contain no values of variables. */
  readonly params: Readonly<Record<string, string>>

  constructor(code: EnvFileErrorCode, params: Readonly<Record<string, string>>, cause?: unknown) {
    super(code, fillText(table[code].text, params), fillText(table[code].fix, params), { cause })
    this.params = params
  }
}

/**
 * Matches a variable at the start of a line, even in a comment, because most variables of an example file are commented
 * out.
 */
const variable = /^[ \t]*(?:#[ \t]*)?(?:export[ \t]+)?([A-Z_][A-Z0-9_]*)=/gm

/** Returns the variable names in the example file, or `undefined` if the file does not exist. */
export async function readExampleKeys(path: string): Promise<ReadonlySet<string> | undefined> {
  const text = await readExampleFile(path)
  return text === undefined ? undefined : new Set([...text.matchAll(variable)].flatMap(([, name]) => name ?? []))
}

/** Returns `undefined` if the path is not a regular file, because reading a pipe or a device could block. */
export async function readExampleFile(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, 'utf8') : undefined
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** New values by variable name. A variable whose new value is the mask of a secret stays unchanged. */
export type EnvChanges = Readonly<Record<string, string>>

/** A warning about a successful change. `params` contains no values of variables. */
export interface EnvFileWarning {
  readonly code: 'env-not-shell-compatible' | 'env-mode-restricted' | 'env-owner-changed' | 'env-written-in-place'
  readonly params: Readonly<Record<string, string>>
}

/** Names of variables by kind of change, in the order of the request. */
export interface EnvFileResult {
  /** Variables that had another value. */
  readonly changed: readonly string[]
  /** Variables that did not exist. */
  readonly added: readonly string[]
  /** Variables that already had the value, or whose new value is the mask of a secret. */
  readonly unchanged: readonly string[]
  readonly warnings: readonly EnvFileWarning[]
}

export interface EnvFilePlan extends EnvFileResult {
  /** New content of the file, including secrets. */
  readonly text: string
}

const validKey = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Returns the new content of a `.env` file. Existing variables are changed in place, new ones are appended, and all
 * other bytes stay the same. Parses the result with the parser of the kernel to check it.
 *
 * @param text content of the file, or `undefined` if it does not exist
 * @param file file name for messages
 * @throws EnvFileError `env-key-invalid`, `env-value-unrepresentable`; `env-file-malformed` if the kernel cannot parse
 *   the file
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

/** Returns the names that a `.env` file sets, without duplicates, in order. Ignores comments. */
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
  // If only blanks follow the `=`, some programs read the next line as the value.
  const isBareEnd = text[start - 1] === '=' && /^\r?(?:\n|$)/.test(rest)
  const blank = rest.startsWith('#') ? ' ' : ''
  return `${text.slice(0, start)}${value === '' && !isBareEnd ? "''" : value}${blank}${rest}`
}

/**
 * Returns a written variable that the parser now reads differently, for example because a quote extends into older
 * lines.
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
