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
  const found = valueAt(answer, 'items') ?? answer
  const values = valuesAt(found, outcome.field.split('.'))
  const count = values.length
  const good = values.filter((value) => (outcome.good as readonly unknown[]).includes(value)).length
  if (count === 0) return { text: translate('admin.outcome.none', { title }), isFailure: false }
  const isFailure = good < count
  const value = labelOf(outcome, values[0])
  const text =
    count > 1
      ? translate('admin.outcome.counted', { title, good, count })
      : value !== undefined
        ? translate('admin.outcome.one', { title, value })
        : isFailure
          ? translate('admin.outcome.failed', { title })
          : done
  const reason = isFailure ? reasonIn(outcome, found) : undefined
  if (reason === undefined) return { text, isFailure }
  // Some texts are sentences, others are not.
  return { text: translate('admin.outcome.because', { text: text.replace(/[.。]$/, ''), reason }), isFailure }
}

/** A row that an action on several rows left unchanged. */
export interface FailedRow {
  readonly id: string
  readonly reason: string
}

/** Returns the rows with an outcome; `undefined` if the response has no outcome per row. */
export function rowOutcomes({ outcome }: Pick<Write, 'outcome'>, answer: unknown) {
  if (outcome?.id === undefined) return undefined
  const { field, good, reason, id } = outcome
  const found = valueAt(answer, 'items') ?? answer
  // The members may be in a list of the response, such as `results.id`.
  const list = Array.isArray(found) ? '' : (id.split('.')[0] as string)
  const items = (list === '' ? found : valueAt(found, list)) as readonly unknown[]
  const at = (item: unknown, name: string) => valueAt(item, list === '' ? name : name.slice(list.length + 1))
  const failed = items.flatMap((item): readonly FailedRow[] => {
    const value = at(item, field)
    if ((good as readonly unknown[]).includes(value)) return []
    const text = (reason !== undefined && at(item, reason)) || labelOf(outcome, value) || value
    return [{ id: String(at(item, id)), reason: String(text) }]
  })
  return { done: items.length - failed.length, failed }
}

/** Returns the first reason of a failure in the response. */
function reasonIn({ reason }: NonNullable<Write['outcome']>, answer: unknown): string | undefined {
  const reasons = reason === undefined ? [] : valuesAt(answer, reason.split('.'))
  return reasons.find((one): one is string => typeof one === 'string' && one !== '')
}

/** Returns the address of the page of the row that a write created; `undefined` if it created none, or several. */
export function addressOfCreated({ created }: Pick<Write, 'created'>, answer: unknown): string | undefined {
  const [found, ...others] = [valueAt(answer, 'items') ?? answer].flat()
  const id = created === undefined || others.length > 0 ? undefined : valueAt(found, created.field)
  return created === undefined || id === undefined || id === null
    ? undefined
    : `/${created.page}/${encodeURIComponent(String(id))}`
}
