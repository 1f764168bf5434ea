import { readFile, stat } from 'node:fs/promises'
import {
  codeOf,
  type EnvFileEntry,
  errorTable,
  fillText,
  maskedValue,
  PlinthError,
  parseEnvFile,
  type WrittenEnvValue,
  writeEnvValue,
} from '@plinth/kernel'

/** Every refusal of the `.env` writer: what happened and what to do. None of them holds a value. */
const { table } = errorTable({
  'env-key-invalid': `"{{key}}" cannot be the name of a variable.
    Use letters, digits and "_", and no digit first.`,
  'env-key-not-allowed': `The example file does not list {{key}}, so it is not written.
    Add {{key}} to .env.example, or set it somewhere else.`,
  'env-value-unrepresentable': `The value of {{key}} cannot be written so that it is read back unchanged.
    Choose a value without this mixture of quotes ' " \`, $, backslashes, line breaks and control characters.`,
  'env-file-malformed': `{{file}} cannot be changed safely: the product cannot read line {{line}}.
    Correct the line; \`plinth doctor\` says what is wrong with it.`,
  'env-changed-concurrently': `{{file}} is being changed by somebody else.
    Look at what it holds now and try again.`,
  'env-not-writable': `{{file}} cannot be written: {{reason}}.
    Let the user that runs the product write the file and its directory, and see that there is free space.`,
})

export type EnvFileErrorCode = keyof typeof table

/** A refusal of the `.env` writer; nothing has been changed. */
export class EnvFileError extends PlinthError {
  override readonly name = 'EnvFileError'
  declare readonly code: EnvFileErrorCode
  /** Fill the placeholders of a translated text. Never values. */
  readonly params: Readonly<Record<string, string>>

  constructor(code: EnvFileErrorCode, params: Readonly<Record<string, string>>, cause?: unknown) {
    super(code, fillText(table[code].text, params), fillText(table[code].fix, params), { cause })
    this.params = params
  }
}

/** A variable on a line of its own, also one that is commented out: an example shows most of them that way. */
const variable = /^[ \t]*(?:#[ \t]*)?(?:export[ \t]+)?([A-Z_][A-Z0-9_]*)=/gm

/** Names in the example file; `undefined` when there is no such file. */
export async function exampleNames(path: string): Promise<ReadonlySet<string> | undefined> {
  const text = await readExampleFile(path)
  return text === undefined ? undefined : new Set([...text.matchAll(variable)].flatMap(([, name]) => name ?? []))
}

/** `undefined` where there is no file: to read a pipe or a device would not end. */
export async function readExampleFile(path: string): Promise<string | undefined> {
  try {
    return (await stat(path)).isFile() ? await readFile(path, 'utf8') : undefined
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

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
