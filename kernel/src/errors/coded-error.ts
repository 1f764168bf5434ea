import { fillText, type PlaceholdersOf, type TextParams } from '../text/text.ts'

/** A command that removes the cause of an error. If the error ends a start, `plinth dev` offers to run the command. */
export interface Remedy {
  /** Question to the developer. It says what is lost. */
  readonly question: string
  /** Words of the command line after `plinth`. */
  readonly words: readonly string[]
}

/** An error with a stable code and a text that says how to fix it. For errors that an operator must fix. */
export class PlinthError extends Error {
  override readonly name: string = 'PlinthError'
  readonly code: string
  readonly fix: string
  /** True if the request is valid and may succeed later. The HTTP layer then responds with 503. */
  declare readonly unavailable?: true
  declare readonly remedy?: Remedy

  constructor(
    code: string,
    message: string,
    fix: string,
    options: { readonly cause?: unknown; readonly unavailable?: boolean } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.fix = fix
    if (options.unavailable === true) this.unavailable = true
  }
}

/** Returns true for every error with a code and a fix, even if another copy of the kernel created it. */
export function isPlinthError(error: unknown): error is PlinthError {
  if (!(error instanceof Error && 'code' in error && 'fix' in error)) return false
  return typeof error.code === 'string' && typeof error.fix === 'string'
}

const accessErrors: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EROFS'])

/** Returns true if the user of the process may not use a file or a directory. */
export function isFileAccessError(error: unknown): boolean {
  const { code, path } = Object(error)
  return accessErrors.has(code) && typeof path === 'string'
}

/**
 * Returns the code of the original error. `PLINTH_START_FAILED`, for example, says where an error occurred, and its
 * cause is the original error. If the cause has no code, returns the code of the error itself, otherwise
 * `PLINTH_UNEXPECTED`. An error of the file system that reports a missing permission has the code
 * `PLINTH_FILE_ACCESS`.
 */
export function causeCodeOf(error: unknown): string {
  const cause = error instanceof Error && isPlinthError(error.cause) ? error.cause : error
  if (isFileAccessError(cause) || isFileAccessError(Object(error).cause)) return 'PLINTH_FILE_ACCESS'
  return isPlinthError(cause) ? cause.code : 'PLINTH_UNEXPECTED'
}

/** Maximum number of errors to read: the error and its causes. */
const maxCauses = 5

/** Returns the error and its causes. */
function* causesOf(error: unknown): Generator<Error> {
  let current = error
  for (let depth = 0; depth < maxCauses && current instanceof Error; depth++) {
    yield current
    current = current.cause
  }
}

/** Returns the remedy of the error or of one of its causes. */
export const findRemedy = (error: unknown): Remedy | undefined =>
  [...causesOf(error)].map((one) => (isPlinthError(one) ? one.remedy : undefined)).find((one) => one !== undefined)

/**
 * Returns true if a later attempt may succeed without a change, because the error or one of its causes is
 * `unavailable`.
 */
export function isUnavailable(error: unknown): boolean {
  return [...causesOf(error)].some((one) => 'unavailable' in one && one.unavailable === true)
}

/**
 * Returns the message of any thrown value. If several addresses of a server fail, the error of Node.js has no message,
 * so its code is returned.
 */
export function errorReason(error: unknown): string {
  return error instanceof Error ? error.message || (errorCodeOf(error) ?? error.name) : String(error)
}

/**
 * Returns the code of any thrown value, for example `ENOENT` of a system call or a code of this project. Returns
 * `undefined` if it has none.
 */
export function errorCodeOf(error: unknown): string | undefined {
  const code: unknown = Object(error).code
  return typeof code === 'string' ? code : undefined
}

/** Describes a problem and the action that fixes it. */
export interface ErrorText {
  readonly text: string
  readonly fix: string
}

type Details<Lines extends string> = [PlaceholdersOf<Lines>] extends [never]
  ? [details?: undefined, cause?: unknown]
  : [details: Readonly<Record<PlaceholdersOf<Lines>, string | number>>, cause?: unknown]

/** Creates the errors of one table. The compiler rejects a call without a value for each placeholder of the text. */
export interface ErrorTable<Table extends Readonly<Record<string, string>>> {
  <Code extends keyof Table & string>(code: Code, ...details: Details<Table[Code]>): PlinthError
  /** The texts by code. The error reference in `docs/` is generated from them. */
  readonly table: Readonly<Record<keyof Table & string, ErrorText>>
}

/** Codes of a table of errors. */
export type ErrorCodeOf<Errors extends { readonly table: object }> = keyof Errors['table'] & string

/**
 * Declares the errors of a package by code. The first line of a text describes the problem, the second line the fix.
 * `{{name}}` is a placeholder for a value that the code that throws the error passes.
 *
 * @param unavailable codes of errors whose request may succeed later without a change
 * @throws TypeError for a text without a second line
 *
 * @example
 * export const shopError = errorTable({
 *   PLINTH_SHOP_CLOSED: `The shop "{{shop}}" is closed.
 *     Open it with \`plinth shop open\`.`,
 * })
 * throw shopError('PLINTH_SHOP_CLOSED', { shop: 'tea' }, cause)
 */
export function errorTable<const Table extends Readonly<Record<string, string>>>(
  lines: Table,
  { unavailable = [] }: { readonly unavailable?: readonly (keyof Table)[] } = {},
): ErrorTable<Table> {
  const texts = Object.entries(lines).map(([code, both]) => {
    const [text = '', fix = ''] = both.split('\n')
    if (fix.trim() === '') throw new TypeError(`The error ${code} has one line; a second line says how to fix it.`)
    return [code, { text, fix: fix.trim() }]
  })
  const table = Object.freeze(Object.fromEntries(texts)) as ErrorTable<Table>['table']
  // Replaces two full stops by one, because an inserted reason of another program may already end with a full stop.
  const fill = (text: string, details: TextParams) => fillText(text, details).replace(/(?<!\.)\.\.(?=\s|$)/g, '.')
  const create = (code: keyof Table & string, details: TextParams = {}, cause?: unknown) =>
    new PlinthError(code, fill(table[code].text, details), fill(table[code].fix, details), {
      cause,
      unavailable: unavailable.includes(code),
    })
  return Object.assign(create as (code: keyof Table & string, ...rest: unknown[]) => PlinthError, { table })
}
