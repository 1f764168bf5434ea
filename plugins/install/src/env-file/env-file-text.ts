import { parseEnv } from 'node:util'
import { maskedValue } from '@plinth/kernel'
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

/** One `NAME=value` of a text: `start` to `end` is the value as written, quotes included. */
interface Entry {
  readonly key: string
  readonly line: number
  readonly start: number
  readonly end: number
  /** End of the line on which the value ends. */
  readonly lineEnd: number
}

const validKey = /^[A-Za-z_][A-Za-z0-9_]*$/
const comment = /[ \t]*#/y
const head = /[ \t]*(?:export[ \t]+)?([^\s=][^=\n]*?)[ \t]*=[ \t]*/y
/** A quoted value ends where nothing but a comment follows. First what the quote means to most readers, then the rest. */
const quoted = ['"(?:\\\\.|[^"\\\\\\n])*"', '"[^"]*"', "'[^']*'", "'(?:\\\\.|[^'\\\\\\n])*'", '`[^`]*`'].map(
  (value) => new RegExp(`${value}(?=[ \\t\\r]*(?:#[^\\n]*)?(?:\\n|$))`, 'y'),
)
const unquoted = /[^#\n]*/y
/** Begins like a quoted value and does not end like one. */
const halfQuoted = /['"`](?:(?![ \t]#)[^\n])*/y

/**
 * What setting the variables makes of a `.env` file: the values of existing names are replaced where they stand, new
 * names go to the end, and everything else stays byte for byte. The text is proven by reading it back as the kernel does.
 *
 * @param text the file, or `undefined` when there is none
 * @param file its name, for messages
 * @throws EnvFileError `env-key-invalid`, `env-value-unrepresentable`, `env-file-malformed`
 */
export function planEnvFile(text: string | undefined, changes: EnvChanges, file = '.env'): EnvFilePlan {
  const before = (text ?? '').replace(/^\uFEFF/, '')
  assertKeys(changes)
  const loaded = parseEnv(before)
  const entries = entriesOf(before)

  const changed: string[] = []
  const added: string[] = []
  const unchanged: string[] = []
  const written = new Map<string, WrittenForm>()
  for (const [key, value] of Object.entries(changes)) {
    const own = entries.filter((entry) => entry.key === key)
    const isThere = loaded[key] === value && own.every((entry) => readingOf(before, entry) === value)
    const list = isThere || value === maskedValue ? unchanged : own.length > 0 ? changed : added
    list.push(key)
    if (list !== unchanged) written.set(key, writtenForm(key, value))
  }
  if (written.size === 0) return { text: text ?? '', changed, added, unchanged, warnings: [] }

  const replaced = entries.reduceRight((result, entry) => {
    const value = written.get(entry.key)
    return value === undefined ? result : replaceValue(result, entry, value.text)
  }, before)
  const eol = before.includes('\r\n') ? '\r\n' : '\n'
  const glue = added.length === 0 || replaced === '' || replaced.endsWith('\n') ? '' : eol
  const after = replaced + glue + added.map((key) => `${key}=${written.get(key)?.text}${eol}`).join('')

  const touched = Object.entries(changes).filter(([key]) => written.has(key))
  if (!isSame(parseEnv(after), { ...loaded, ...Object.fromEntries(touched) })) {
    const line = misreadLine(after) ?? misreadLine(before)
    const place = line === undefined ? 'it is read in another way than it looks' : `see line ${line}`
    throw new EnvFileError('env-file-malformed', { file, place })
  }
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
  const keys = entriesOf(text.replace(/^\uFEFF/, '')).map(({ key }) => key)
  return [...new Set(keys)].filter((key) => validKey.test(key))
}

interface WrittenForm {
  readonly text: string
  readonly isForShells: boolean
}

/** The weakest quotes in which the kernel, dotenv and, where there is a way, `sh` read the same value. */
function writtenForm(key: string, value: string): WrittenForm {
  const hasBreak = value.includes('\n')
  if (!value.isWellFormed() || /[\0\r]/.test(value)) throw new EnvFileError('env-value-unrepresentable', { key })
  if (/^[A-Za-z0-9_.,:/@%+=-]*$/.test(value)) return { text: value, isForShells: true }
  if (!hasBreak && !value.includes("'")) return { text: `'${value}'`, isForShells: true }
  if (!/["\\$`]/.test(value)) return { text: `"${value.replaceAll('\n', '\\n')}"`, isForShells: !hasBreak }
  if (!hasBreak && !value.includes('`')) return { text: `\`${value}\``, isForShells: false }
  throw new EnvFileError('env-value-unrepresentable', { key })
}

function entriesOf(text: string): Entry[] {
  const entries: Entry[] = []
  for (let at = 0, line = 1; at < text.length; ) {
    const key = matchAt(comment, text, at) === undefined ? matchAt(head, text, at)?.[1] : undefined
    const start = key === undefined ? at : head.lastIndex
    const end = key === undefined ? at : start + valueAt(text, start).replace(/[ \t\r]+$/, '').length
    const lineEnd = text.indexOf('\n', end) === -1 ? text.length : text.indexOf('\n', end)
    if (key !== undefined) entries.push({ key, line, start, end, lineEnd })
    line += text.slice(at, lineEnd + 1).split('\n').length - 1
    at = lineEnd + 1
  }
  return entries
}

function valueAt(text: string, start: number): string {
  for (const pattern of [...quoted, halfQuoted, unquoted]) {
    const match = matchAt(pattern, text, start)
    if (match !== undefined) return match[0]
  }
  return ''
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}

/** The value of one entry as if its lines were the whole file. */
function readingOf(text: string, { start, lineEnd }: Entry): string | undefined {
  return parseEnv(`VALUE=${text.slice(start, lineEnd)}`)['VALUE']
}

function replaceValue(text: string, { start, end }: Entry, value: string): string {
  const rest = text.slice(end)
  // The kernel takes the next line for the value of a variable that has nothing but blanks after its "=".
  const isBareEnd = text[start - 1] === '=' && /^\r?(?:\n|$)/.test(rest)
  const space = rest.startsWith('#') ? ' ' : ''
  return `${text.slice(0, start)}${value === '' && !isBareEnd ? "''" : value}${space}${rest}`
}

type Values = Readonly<Record<string, string | undefined>>

function isSame(left: Values, right: Values): boolean {
  return [...Object.keys(left), ...Object.keys(right)].every((key) => left[key] === right[key])
}

/** The first line on which the loader sees something else than the line says: an open quote, blanks for a value. */
function misreadLine(text: string): number | undefined {
  const loaded: Values = parseEnv(text)
  const last = new Map(entriesOf(text).map((entry) => [entry.key, entry]))
  return [...last.values()].find((entry) => readingOf(text, entry) !== loaded[entry.key])?.line
}
