/** One `NAME=value` of a `.env` file. */
export interface EnvFileEntry {
  readonly name: string
  readonly value: string
  /** Number of the line on which the entry starts; the first line is 1. */
  readonly line: number
  /** Range of the value in the text, including its quotes. */
  readonly start: number
  readonly end: number
}

/** A line that looks like a value, or like text, but sets nothing. */
export interface EnvFileProblem {
  readonly line: number
  /** A clause without a full stop. Contains no text of the file, which may be secret. */
  readonly reason: string
}

export interface EnvFile {
  /** In the order of the file. If a name has several entries, the last applies. */
  readonly entries: readonly EnvFileEntry[]
  /** The first problems, at most `maxProblems`. */
  readonly faults: readonly EnvFileProblem[]
}

/** Maximum number of reported problems. In a binary file each line has a problem, and reporting all would not help. */
const maxProblems = 10

const reasons = {
  'no-entry': 'the line is not NAME=value, a comment or empty',
  colon: 'a colon follows the name; write NAME=value',
  tab: 'a tab follows "export"; write one blank',
  open: 'a quote is opened and not closed',
  behind: 'text follows the closing quote; write one quoted value, then a blank before a comment',
  hash: '"#" follows the value directly; write a blank before a comment, or put the value in quotes',
  escape:
    'a backslash before a quote, a backslash, "$" or a line break is read differently by other programs; put the value in single quotes',
  continued: 'a backslash ends the line, which some programs continue; put the value in single quotes',
  space: 'a white space character that is not a blank or a tab is outside quotes',
  return: 'a carriage return without a line feed ends the line for some programs',
  nul: 'it contains NUL, as UTF-16 does; save the file as UTF-8',
  utf16: 'the file is UTF-16; save it as UTF-8',
  utf8: 'the line is not UTF-8; save the file as UTF-8',
} as const
type Fault = keyof typeof reasons
const problem = (line: number, code: Fault): EnvFileProblem => ({ line, reason: reasons[code] })

/** Returns the text of a file, or a problem with the first line that is not UTF-8. */
export function decodeEnvFile(bytes: Uint8Array): string | EnvFileProblem {
  const text = decode(bytes)
  if (text !== undefined) return text
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return problem(1, 'utf16')
  let line = 1
  for (let start = 0, end: number; ; start = end + 1, line++) {
    // Multi-byte characters contain no line feed byte.
    end = bytes.indexOf(0x0a, start)
    if (end === -1 || decode(bytes.subarray(start, end)) === undefined) return problem(line, 'utf8')
  }
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

const empty = /[ \t]*(?:#[^\n]*)?\r?(?=\n|$)/y
/** Matches the name of an entry, up to and including the blanks after "=". */
const head = /[ \t]*(?:export +)?([\w.-]+)[ \t]*=[ \t]*/y
const colon = /[ \t]*(?:export[ \t]+)?[\w.-]+[ \t]*:[ \t]/y
const exportTab = /[ \t]*export[ ]*\t[ \t]*[\w.-]+[ \t]*=/y
/** Matches the text that may follow a value: blanks and a comment. */
const tail = /(?:[ \t]+#[^\n]*|[ \t]*)\r?(?=\n|$)/y
/** Matches a value without quotes: up to the end of the line, or to the blank before a comment. */
const unquoted = /(?:(?<=[ \t])(?=#)|(?:(?![ \t]+(?:#|\r?(?:\n|$)))[^\r\n])*)/y
const quoted: Readonly<Record<string, RegExp>> = { "'": /'[^']*'/y, '"': /"[^"]*"/y, '`': /`[^`]*`/y }
/** Matches quoted values as npm `dotenv` reads them: it skips a backslash with a quote if a later quote ends a line. */
const quotedElsewhere: Readonly<Record<string, RegExp>> = Object.fromEntries(
  Object.keys(quoted).map((quote) => [
    quote,
    new RegExp(`${quote}(?:\\\\${quote}|[^${quote}])*${quote}(?=\\s*(?:#.*)?$)`, 'my'),
  ]),
)
/**
 * Matches a backslash in double quotes that other programs read differently. `\n` and `\r` are a line break and a
 * carriage return. Other backslashes are literal.
 */
const ambiguousEscape = /\\(?=["\\$`\r\n]|$)/
/** Matches white space that npm `dotenv` removes, except blanks, tabs and line ends. */
const otherSpace = /(?![ \t\r\n])\s/

/**
 * Reads a `.env` file in the syntax of npm `dotenv`. Texts that `dotenv` skips silently, or reads differently from
 * their appearance, are problems.
 *
 * - A line is empty, a comment (`#` first), or `NAME=value`, optionally with `export ` before it. A name has letters,
 *   digits, `_`, `.` and `-`. Blanks and tabs around the name and the value are ignored. A byte order mark and CRLF are
 *   allowed.
 * - Without quotes, a value ends with its line or before a blank with `#`. It may be empty. No character in it is
 *   special.
 * - `'...'` and `` `...` `` are literal and may have several lines. `"..."` too, but `\n` and `\r` in it are a line
 *   break and a carriage return. Variables are never replaced.
 */
export function parseEnvFile(text: string): EnvFile {
  const entries: EnvFileEntry[] = []
  const faults: EnvFileProblem[] = []
  let line = 1
  for (let at = text.startsWith('\uFEFF') ? 1 : 0; at < text.length; ) {
    const found = lineAt(text, at, line)
    const from = typeof found === 'object' ? found.end : at
    const end = text.indexOf('\n', from) === -1 ? text.length : text.indexOf('\n', from)
    const whole = text.slice(at, end)
    const broken = brokenLine(whole, typeof found === 'object' ? text.slice(found.start, found.end) : '')
    if (broken !== undefined) faults.push(problem(line, broken))
    else if (typeof found === 'string') faults.push(problem(line, found))
    else if (found !== undefined) entries.push(found)
    // A file that contains NUL is not text. Its other lines are not checked.
    if (broken === 'nul' || faults.length === maxProblems) break
    line += whole.split('\n').length
    at = end + 1
  }
  return { entries, faults }
}

/** Returns the problem of a line with a character that is not allowed. */
function brokenLine(line: string, value: string): Fault | undefined {
  if (line.includes('\0')) return 'nul'
  if (/\r(?!\n|$)/.test(line)) return 'return'
  const isQuoted = Object.hasOwn(quoted, value[0] ?? '')
  return otherSpace.test(isQuoted ? line.replace(value, () => '') : line) ? 'space' : undefined
}

/** Returns the entry that starts at a position, `undefined` for an empty line or a comment, or the problem. */
function lineAt(text: string, at: number, line: number): EnvFileEntry | Fault | undefined {
  if (matchAt(empty, text, at) !== undefined) return undefined
  const name = matchAt(head, text, at)?.[1]
  if (name === undefined) {
    if (matchAt(exportTab, text, at) !== undefined) return 'tab'
    return matchAt(colon, text, at) === undefined ? 'no-entry' : 'colon'
  }
  const start = head.lastIndex
  const quote = text[start] ?? ''
  const pattern = Object.hasOwn(quoted, quote) ? quoted[quote] : undefined
  if (pattern === undefined) {
    const value = matchAt(unquoted, text, start)?.[0] ?? ''
    if (/^#|[^ \t]#/.test(value)) return 'hash'
    if (value.endsWith('\\')) return 'continued'
    return { name, value, line, start, end: start + value.length }
  }
  const written = matchAt(pattern, text, start)?.[0]
  if (written === undefined) return 'open'
  const end = start + written.length
  const inner = written.slice(1, -1)
  if (quote === '"' && ambiguousEscape.test(inner)) return 'escape'
  if (matchAt(tail, text, end) === undefined) return 'behind'
  const patternElsewhere = inner.endsWith('\\') ? quotedElsewhere[quote] : undefined
  const elsewhere = patternElsewhere && matchAt(patternElsewhere, text, start)?.[0]
  if (elsewhere !== undefined && elsewhere.length > written.length) return 'escape'
  const value = inner.replaceAll('\r\n', '\n')
  return { name, value: quote === '"' ? unescaped(value) : value, line, start, end }
}

const unescaped = (value: string) => value.replaceAll('\\n', '\n').replaceAll('\\r', '\r')

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at
  return pattern.exec(text) ?? undefined
}

/** The written form of a value in a `.env` file. */
export interface WrittenEnvValue {
  readonly text: string
  /** False if `sh` would read a different value. */
  readonly isForShells: boolean
}

/**
 * Writes a value with as few quotes as possible, so that `parseEnvFile`, npm `dotenv` and, if possible, `sh` read the
 * same value.
 *
 * @returns undefined if no such form exists, because of NUL, carriage returns, unpaired surrogates, or mixed quotes
 */
export function writeEnvValue(value: string): WrittenEnvValue | undefined {
  const hasBreak = value.includes('\n')
  if (!value.isWellFormed() || /[\0\r]/.test(value)) return undefined
  if (/^[A-Za-z0-9_.,:/@%+=-]*$/.test(value)) return { text: value, isForShells: true }
  if (!hasBreak && !value.includes("'")) return { text: `'${value}'`, isForShells: true }
  if (!/["\\$`]/.test(value)) return { text: `"${value.replaceAll('\n', '\\n')}"`, isForShells: !hasBreak }
  if (!hasBreak && !value.includes('`')) return { text: `\`${value}\``, isForShells: false }
  return undefined
}
