import type { Translate } from '../../../text/texts.ts'
import type { Write } from '../../api/page-types.ts'
import { labelOf, valueAt } from '../../api/row-values.ts'

/** The result of a write in words. */
export interface WriteResult {
  readonly text: string
  readonly isFailure: boolean
}

/** Returns the values at a dotted name. Lists on the way have one value for each of their items. */
function valuesAt(value: unknown, names: readonly string[]): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap((item) => valuesAt(item, names))
  const [first, ...rest] = names
  if (first === undefined) return [value]
  return typeof value === 'object' && value !== null ? valuesAt(valueAt(value, first), rest) : []
}

/** Returns the result of a write for a message. A successful response can contain failures. */
export function resultOfWrite(
  { outcome }: Pick<Write, 'outcome'>,
  answer: unknown,
  { translate, title, done }: { readonly translate: Translate; readonly title: string; readonly done: string },
): WriteResult {
  if (outcome === undefined) return { text: done, isFailure: false }
  const values = valuesAt(valueAt(answer, 'items') ?? answer, outcome.field.split('.'))
  const count = values.length
  const good = values.filter((value) => (outcome.good as readonly unknown[]).includes(value)).length
  if (count === 0) return { text: translate('admin.outcome.none', { title }), isFailure: false }
  const isFailure = good < count
  if (count > 1) return { text: translate('admin.outcome.counted', { title, good, count }), isFailure }
  const value = labelOf(outcome, values[0])
  if (value !== undefined) return { text: translate('admin.outcome.one', { title, value }), isFailure }
  return { text: isFailure ? translate('admin.outcome.failed', { title }) : done, isFailure }
}

/** Returns the address of the page of the row that a write created; `undefined` if it created none. */
export function addressOfCreated({ created }: Pick<Write, 'created'>, answer: unknown): string | undefined {
  const id = created === undefined ? undefined : valueAt(answer, created.field)
  return created === undefined || id === undefined || id === null
    ? undefined
    : `/${created.page}/${encodeURIComponent(String(id))}`
}
