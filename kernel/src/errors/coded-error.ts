import { fillText, type MarksOf, type TextParams } from '../text/text.ts'

/** An error with a stable code and a fix. Plugins throw it for errors that an operator must fix. */
export class PlinthError extends Error {
  override readonly name: string = 'PlinthError'
  readonly code: string
  readonly fix: string
  /** The request is valid and may succeed later. The HTTP layer returns 503 for such an error. */
  declare readonly unavailable?: true

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

/** True for every error with a code and a fix, including those of another copy of the kernel. */
export function isPlinthError(error: unknown): error is PlinthError {
  if (!(error instanceof Error && 'code' in error && 'fix' in error)) return false
  return typeof error.code === 'string' && typeof error.fix === 'string'
}

/**
 * Returns the code of the cause of an error: `PLINTH_START_FAILED` reports where an error occurred, and its cause
 * reports which error. If the cause has no code, returns the code of the error itself; if that has none,
 * `PLINTH_UNEXPECTED`.
 */
export function causeCodeOf(error: unknown): string {
  const cause = error instanceof Error && isPlinthError(error.cause) ? error.cause : error
  return isPlinthError(cause) ? cause.code : 'PLINTH_UNEXPECTED'
}

/** Maximum number of nested errors that are read: the error and its causes. */
const maxCauses = 5

/** True if a later attempt may succeed without a change: the error or one of its causes is `unavailable`. */
export function isUnavailable(error: unknown): boolean {
  let current = error
  for (let depth = 0; depth < maxCauses && current instanceof Error; depth++) {
    if ('unavailable' in current && current.unavailable === true) return true
    current = current.cause
  }
  return false
}

/** Returns the message of any thrown value. An error of Node.js for several addresses has a code but no message. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || (codeOf(error) ?? error.name) : String(error)
}

/**
 * Returns the code of any thrown value: of a system call (`ENOENT`), a driver or this project; `undefined` if it has
 * none.
 */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = Object(error).code
  return typeof code === 'string' ? code : undefined
}

/** Describes a problem and the action that fixes it. */
export interface ErrorText {
  readonly text: string
  readonly fix: string
}

type Details<Lines extends string> = [MarksOf<Lines>] extends [never]
  ? [details?: undefined, cause?: unknown]
  : [details: Readonly<Record<MarksOf<Lines>, string | number>>, cause?: unknown]

/** Creates the errors of one table. A call that omits a placeholder of the text does not compile. */
export interface ErrorTable<Table extends Readonly<Record<string, string>>> {
  <Code extends keyof Table & string>(code: Code, ...details: Details<Table[Code]>): PlinthError
  /** Source of the error reference in `docs/`. */
  readonly table: Readonly<Record<keyof Table & string, ErrorText>>
}

/** Codes of a table of errors. */
export type ErrorCodeOf<Errors extends { readonly table: object }> = keyof Errors['table'] & string

/**
 * Declares the errors of a package by code: the problem on the first line and the fix on the second. `{{name}}` is a
 * placeholder for a detail of the thrown error.
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
  // A reason from another program may end with a full stop, and the text around it too.
  const fill = (text: string, details: TextParams) => fillText(text, details).replace(/(?<!\.)\.\.(?=\s|$)/g, '.')
  const create = (code: keyof Table & string, details: TextParams = {}, cause?: unknown) =>
    new PlinthError(code, fill(table[code].text, details), fill(table[code].fix, details), {
      cause,
      unavailable: unavailable.includes(code),
    })
  return Object.assign(create as (code: keyof Table & string, ...rest: unknown[]) => PlinthError, { table })
}
