import { diff } from 'node:util'
import type { TemplateFields } from './checked-source.ts'

/** One line of a text. `none` stands for lines that are the same in both texts and are left out. */
export interface ComparedLine {
  readonly field: 'content' | 'html'
  readonly change: 'added' | 'removed' | 'same' | 'skipped'
  readonly text: string
}

export interface Comparison {
  readonly fields: readonly { readonly field: string; readonly before: string | null; readonly after: string | null }[]
  readonly lines: readonly ComparedLine[]
}

/** Lines around a change that are shown. */
const contextLines = 3
/** Maximum number of lines in each text that are compared one by one. Otherwise, all lines are shown as replaced. */
const maxCompared = 1_000
export const maxLines = 5_000

/** Compares two versions of a template: short fields by value, texts by line. Returns at most `maxLines` lines. */
export function compareVersions(before: TemplateFields | undefined, after: TemplateFields): Comparison {
  const short = {
    subject: ({ subject }: TemplateFields) => subject,
    htmlFormat: ({ htmlFormat }: TemplateFields) => htmlFormat,
    attachments: ({ attachments }: TemplateFields) =>
      attachments
        ?.map(({ name, contentId }) => (contentId === undefined ? name : `${name} (cid:${contentId})`))
        .join(', ') || null,
    testValues: ({ testValues }: TemplateFields) => (testValues === null ? null : JSON.stringify(testValues)),
  }
  const fields = Object.entries(short).flatMap(([field, of]) => {
    const [old, value] = [before === undefined ? null : of(before), of(after)]
    return old === value ? [] : [{ field, before: old, after: value }]
  })
  const lines = (['content', 'html'] as const).flatMap((field) =>
    changedLines(before?.[field] ?? '', after[field] ?? '').map((line) => ({ field, ...line })),
  )
  return { fields, lines: lines.slice(0, maxLines) }
}

type Line = Omit<ComparedLine, 'field'>

const linesOf = (text: string) => (text === '' ? [] : text.split(/\r\n|\r|\n/))
const changes = { '-1': 'added', '0': 'same', '1': 'removed' } as const

function changedLines(before: string, after: string): readonly Line[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  if (before === after) return []
  const isSmall = old.length <= maxCompared && now.length <= maxCompared
  const all: readonly Line[] = isSmall
    ? diff(old, now).map(([operation, text]) => ({ change: changes[`${operation}`], text: String(text) }))
    : [
        ...old.map((text) => ({ change: 'removed' as const, text })),
        ...now.map((text) => ({ change: 'added' as const, text })),
      ]
  const isNear = (at: number) =>
    all.slice(Math.max(0, at - contextLines), at + contextLines + 1).some(({ change }) => change !== 'same')
  return all.flatMap((line, at) => {
    if (isNear(at)) return [line]
    return at === 0 || isNear(at - 1) ? [{ change: 'skipped', text: '' } as const] : []
  })
}
