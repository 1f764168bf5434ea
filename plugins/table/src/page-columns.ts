import type { PageColumn, PageForm, PageLabelPicker, Tone } from '@plinth/admin'
import { type ColumnDescription, type Columns, titlesOfChoices } from './columns.ts'

/** Returns how a page shows the values of a column. */
export function pageColumnOf(field: string, description: ColumnDescription): PageColumn {
  const { kind, labels, choices = {}, unit } = description
  switch (kind) {
    case 'id':
      return labels === undefined ? { field, as: 'text' } : { field, as: 'reference', of: { labels, optional: true } }
    case 'number':
      return { field, as: 'count' }
    case 'choice': {
      const tones = Object.entries(choices).map(([value, choice]) => [value, 'tone' in choice ? choice.tone : 'quiet'])
      return {
        field,
        as: 'status',
        tones: Object.fromEntries(tones) as Readonly<Record<string, Tone>>,
        labels: titlesOfChoices(description),
      }
    }
    case 'amount':
      return { field, as: 'amount', ...(unit && ('asset' in unit ? { asset: unit.asset } : { currency: unit.in })) }
    case 'longText':
      return { field, as: 'text' }
    default:
      return { field, as: kind }
  }
}

/**
 * Returns the field with which a form or filter chooses an id; `undefined` for other columns. The kind of the labels may
 * belong to a plugin that is not loaded.
 */
export const pickerOf = ({ labels, title }: ColumnDescription): PageLabelPicker | undefined =>
  labels === undefined ? undefined : { labels, optional: true, ...(title && { title }) }

/** Returns how a page lets people enter members of a body: those with the name of a column, by their unit or picker. */
export function inputsOf(columns: Columns, names: readonly string[]): Required<Pick<PageForm, 'options' | 'amounts'>> {
  const byName = <T>(of: (column: ColumnDescription) => T | undefined): Readonly<Record<string, T>> =>
    Object.fromEntries(
      names.flatMap((name) => {
        const column = columns[name]
        const value = column && of(column.description)
        return value === undefined ? [] : [[name, value]]
      }),
    )
  return {
    options: byName(pickerOf),
    amounts: byName(({ unit }) => unit && ('asset' in unit ? { unit: unit.asset } : { field: unit.in })),
  }
}
