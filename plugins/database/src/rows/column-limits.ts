import { databaseError } from '../errors.ts'

/** The values that a column can store. */
interface ColumnLimits {
  readonly kind: string
  /** Maximum number of code points of a text; undefined for no limit. */
  readonly length: number | undefined
  /** True for a 32-bit integer. */
  readonly isSmall: boolean
}

/**
 * Checks that a column can store a value. SQLite would store a text of any length and a fraction in an integer column,
 * and MySQL would shorten them in some statements.
 *
 * @param column name of the table and of the column, for the error
 * @throws PlinthError `PLINTH_DATABASE_VALUE`
 */
export function assertStorable(column: () => string, limits: ColumnLimits, value: unknown): void {
  const reason = typeof value === 'string' ? textProblem(limits, value) : numberProblem(limits, value)
  if (reason !== undefined) throw databaseError('PLINTH_DATABASE_VALUE', { column: column(), reason })
}

function textProblem({ kind, length }: ColumnLimits, value: string): string | undefined {
  // A text has at most as many code points as UTF-16 units, so most texts need not be counted.
  if (kind !== 'text' || length === undefined || value.length <= length) return undefined
  const characters = [...value].length
  if (characters > length) return `has ${characters} characters, and the column stores at most ${length}`
  return undefined
}

const [smallest, largest] = [-(2 ** 31), 2 ** 31 - 1]

function numberProblem({ kind, isSmall }: ColumnLimits, value: unknown): string | undefined {
  if (typeof value !== 'number' || (kind !== 'integer' && kind !== 'id')) return undefined
  if (isSmall) {
    const isValid = Number.isInteger(value) && value >= smallest && value <= largest
    return isValid ? undefined : `is ${value}, which is not an integer from ${smallest} to ${largest}`
  }
  return Number.isSafeInteger(value) ? undefined : `is ${value}, which is not an integer within 2^53 - 1`
}
