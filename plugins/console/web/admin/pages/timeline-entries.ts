import type { Column, Timeline } from '../api/page-types.ts'
import { type Row, valueAt, valuesFromRow } from '../api/row-values.ts'

/** Something that happened to the object. */
export interface Entry {
  readonly key: string
  /** Time in ISO 8601. */
  readonly at: string
  readonly title?: string
  readonly columns: readonly Column[]
  readonly row: Row
  readonly href?: string
}

export const newestFirst = (entries: readonly Entry[]): readonly Entry[] =>
  entries.toSorted((a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0))

/** Returns the parameters of the call that reads the entries of an object. */
export function parametersOf({ filter, objectId, path, size }: Timeline, object: Row, id: string) {
  const given = Object.entries({
    ...valuesFromRow(filter, object),
    ...(objectId === undefined ? {} : { [objectId]: id }),
    ...(size === undefined ? {} : { size }),
  })
  const isInPath = ([name]: readonly [string, unknown]) => path.includes(`{${name}}`)
  return {
    params: Object.fromEntries(given.filter(isInPath)),
    query: Object.fromEntries(given.filter((one) => !isInPath(one))),
  }
}

type EntrySource = Pick<Timeline, 'id' | 'at' | 'columns'> & Partial<Pick<Timeline, 'title' | 'opens'>>

/** Returns the entries of rows. A row without a time has none. */
export const entriesOf = ({ id, at, title, columns, opens }: EntrySource, rows: readonly Row[]): readonly Entry[] =>
  rows.flatMap((row, index) => {
    const moment = valueAt(row, at)
    if (typeof moment !== 'string') return []
    const key = opens === undefined ? undefined : valueAt(row, opens.field)
    const href = opens === undefined || key == null ? {} : { href: `/${opens.page}/${encodeURIComponent(String(key))}` }
    return [
      {
        key: `${id} ${at} ${moment} ${index}`,
        at: moment,
        columns,
        row,
        ...(title === undefined ? {} : { title }),
        ...href,
      },
    ]
  })
