import { setImmediate as nextTurn } from 'node:timers/promises'
import { count, type RouteRequest, Type } from '@plinth/http'
import { localizedOf, withTitle } from '@plinth/table'
import type { TObject, TSchema } from 'typebox'
import type { Row } from './definition.ts'

/** Maximum number of rows of one import, so that its transaction stays short. */
const maxImportedRows = 1_000

/** Number of rows after which other work gets a turn. */
const rowsPerTurn = 10

/** Maximum number of errors that the problem of a row lists. */
const maxErrors = 20

/** Maximum size of the request in bytes. */
export const maxImportBytes = 4_194_304

export type ImportMode = 'check' | 'all' | 'valid'

const titled = <S extends TSchema>(schema: S, en: string, zh: string): S => withTitle(schema, localizedOf([en, zh]))

const problem = Type.Object({
  row: titled(Type.Integer({ minimum: 0, description: 'Index of the row in the request, from 0.' }), 'Row', '行号'),
  reason: Type.Union([Type.String(), Type.Null()], {
    description: 'Reason of the error, as for the creation of one row.',
  }),
  message: Type.String({ description: 'Text for users, in the language of the request.' }),
  errors: Type.Array(Type.Object({ field: Type.String(), rule: Type.String(), message: Type.String() }), {
    description: `The fields of the row with the rules that they violate, at most ${maxErrors}.`,
  }),
})

export const importBody: TObject = Type.Object({
  rows: titled(
    Type.Array(Type.Record(Type.String(), Type.Unknown()), {
      minItems: 1,
      maxItems: maxImportedRows,
      description: 'Rows with the members of the request that creates one row.',
    }),
    'Rows',
    '行',
  ),
  mode: Type.Optional(
    Type.Enum(['check', 'all', 'valid'], {
      default: 'all',
      description:
        '`check`: nothing is written. `all`: either all rows are written, or none. `valid`: all rows without a problem are written, or none.',
    }),
  ),
})

export const importView = Type.Object({
  outcome: Type.Enum(['checked', 'imported', 'rejected'], {
    description: '`rejected`: nothing was written, because of the problems.',
  }),
  valid: titled(count, 'Rows without a problem', '无问题的行数'),
  created: titled(count, 'Created rows', '已创建的行数'),
  problems: titled(Type.Array(problem), 'Problems', '问题'),
})

export interface ImportProblem {
  row: number
  reason: string | null
  message: string
  errors: { field: string; rule: string; message: string }[]
}

/** Problem of one row that is already known as an error. */
export interface RowError {
  readonly row: number
  readonly error: unknown
}

/**
 * Returns the problems of rows, in their order, as the creation of each row alone would report them.
 *
 * @throws an error that is not the fault of its row
 */
export async function problemsOf(
  errors: readonly RowError[],
  request: Pick<RouteRequest, 'errorOf'>,
): Promise<readonly ImportProblem[]> {
  const problems: ImportProblem[] = []
  for (const error of errors.toSorted((a, b) => a.row - b.row)) {
    if (problems.length % rowsPerTurn === 0) await nextTurn()
    problems.push(problemOf(error, request))
  }
  return problems
}

function problemOf({ row, error }: RowError, { errorOf }: Pick<RouteRequest, 'errorOf'>): ImportProblem {
  const { code, message, data } = errorOf(error)
  if (code.startsWith('5')) throw error
  const { reason = null, field, errors = [] } = data ?? {}
  const found = (errors as ImportProblem['errors']).slice(0, maxErrors)
  const named = typeof field === 'string' ? [{ field, rule: String(reason ?? code), message }] : []
  const text = found.length < maxErrors ? message : found.map((one) => one.message).join('; ')
  return { row, reason: reason as string | null, message: text, errors: found.length > 0 ? found : named }
}

/** Returns the rows that violate no rule of the schema, with their index, and the errors of the others. */
export async function checkedRows(
  rows: readonly Row[],
  schema: object,
  { checkInput }: Pick<RouteRequest, 'checkInput'>,
): Promise<{
  readonly inputs: readonly { readonly row: number; readonly input: Row }[]
  readonly errors: readonly RowError[]
}> {
  const inputs: { row: number; input: Row }[] = []
  const errors: RowError[] = []
  for (const [row, value] of rows.entries()) {
    if (row % rowsPerTurn === 0) await nextTurn()
    try {
      inputs.push({ row, input: checkInput<Row>(schema, value) })
    } catch (error) {
      errors.push({ row, error })
    }
  }
  return { inputs, errors }
}
