/** One assignment `NAME=value` in a `.env` file. */
export interface EnvFileEntry {
  readonly name: string
  readonly value: string
  /** Line number of the start of the entry. The first line is 1. */
  readonly line: number
  /** Position of the value in the file text, including its quotes. */
  readonly start: number
  readonly end: number
}

/** A line that does not set a value although its author probably expected it to. */
export interface EnvFileProblem {
  readonly line: number
  /**
   * Description of the problem, as a clause without a full stop. It never quotes the file, which may contain secrets.
   */
  readonly reason: string
}

export interface EnvFile {
  /** Entries in file order. If a name occurs several times, the last entry applies. */
  readonly entries: readonly EnvFileEntry[]
  /** The first problems of the file, at most 10. */
  readonly faults: readonly EnvFileProblem[]
}

/**
 * Maximum number of reported problems. In a binary file every line has a problem, and a complete list would not help.
 */
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

/**
 * Returns the text of a file. If the file is not valid UTF-8, returns a problem with the number of the first invalid
 * line.
 */
export function decodeEnvFile(bytes: Uint8Array): string | EnvFileProblem {
  const text = decode(bytes)
  if (text !== undefined) return text
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return problem(1, 'utf16')
  let line = 1
  for (let start = 0, end: number; ; start = end + 1, line++) {
    // In UTF-8, a line feed byte is never part of a longer character, so lines can be decoded separately.
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
/** Matches the name of an entry, the "=" and the blanks around both. */
const head = /[ \t]*(?:export +)?([\w.-]+)[ \t]*=[ \t]*/y
const colon = /[ \t]*(?:export[ \t]+)?[\w.-]+[ \t]*:[ \t]/y
const exportTab = /[ \t]*export[ ]*\t[ \t]*[\w.-]+[ \t]*=/y
/** Matches the text that may follow a quoted value on its line: blanks and a comment. */
const tail = /(?:[ \t]+#[^\n]*|[ \t]*)\r?(?=\n|$)/y
/** Matches a value without quotes. It ends at the line end or before the blank that starts a comment. */
const unquoted = /(?:(?<=[ \t])(?=#)|(?:(?![ \t]+(?:#|\r?(?:\n|$)))[^\r\n])*)/y
const quoted: Readonly<Record<string, RegExp>> = { "'": /'[^']*'/y, '"': /"[^"]*"/y, '`': /`[^`]*`/y }
/**
 * Matches quoted values like npm `dotenv`: an escaped quote does not end the value if a later quote is at a line end.
 */
const quotedElsewhere: Readonly<Record<string, RegExp>> = Object.fromEntries(
  Object.keys(quoted).map((quote) => [
    quote,
    new RegExp(`${quote}(?:\\\\${quote}|[^${quote}])*${quote}(?=\\s*(?:#.*)?$)`, 'my'),
  ]),
)
/**
 * Matches a backslash in double quotes that other programs interpret differently. Not matched: `\n` and `\r`, which
 * every program reads as a line break and a carriage return, and backslashes before ordinary characters, which are
 * literal.
 */
const ambiguousEscape = /\\(?=["\\$`\r\n]|$)/
/**
 * Matches unusual white space, which npm `dotenv` would remove without a notice. Blanks, tabs and line ends are not
 * matched.
 */
const otherSpace = /(?![ \t\r\n])\s/

/**
 * Parses a `.env` file in the syntax of npm `dotenv`. A line that `dotenv` would skip silently, or read differently
 * from how it looks, is reported as a problem.
 *
 * - A line is empty, a comment that starts with `#`, or `NAME=value`. `export ` may precede the name. A name consists
 *   of letters, digits, `_`, `.` and `-`. Blanks and tabs around the name and the value are ignored. A byte order mark
 *   and CRLF are allowed.
 * - A value without quotes ends at the line end or before a blank that is followed by `#`. It may be empty. All its
 *   characters are literal.
 * - A value in `'...'` or `` `...` `` is literal and may have several lines. In `"..."`, `\n` is a line break and `\r`
 *   is a carriage return. Variables in values are never replaced.
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
    // NUL shows that the file is not a text file, so the remaining lines are not checked.
    if (broken === 'nul' || faults.length === maxProblems) break
    line += whole.split('\n').length
    at = end + 1
  }
  return { entries, faults }
}

function brokenLine(line: string, value: string): Fault | undefined {
  if (line.includes('\0')) return 'nul'
  if (/\r(?!\n|$)/.test(line)) return 'return'
  const isQuoted = Object.hasOwn(quoted, value[0] ?? '')
  return otherSpace.test(isQuoted ? line.replace(value, () => '') : line) ? 'space' : undefined
}

/** Returns the entry that starts at a position, or its problem. Returns `undefined` for an empty line or a comment. */
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

/** A value as it is written in a `.env` file. */
export interface WrittenEnvValue {
  readonly text: string
  /** False if the shell `sh` would read a different value from this text. */
  readonly isForShells: boolean
}

/**
 * Formats a value for a `.env` file with as few quotes as possible. `parseEnvFile` and npm `dotenv` read the same value
 * back, and if possible also `sh`.
 *
 * @returns undefined if no such text exists, because the value contains NUL, carriage returns, unpaired surrogates or
 * several kinds of quotes
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
