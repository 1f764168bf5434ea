import type { AttentionDeclaration, PageDeclaration } from '@plinth/admin'
import { itemOf, memberAt, type Operation, withoutNull } from './operations.ts'
import { ownPages } from './own-pages.ts'

type Operations = ReadonlyMap<string, Operation>

/** What is wrong with what is declared to need attention, a sentence each. */
export function attentionFaults(
  declared: Iterable<AttentionDeclaration>,
  operations: Operations,
  pages: ReadonlyMap<string, PageDeclaration>,
): readonly string[] {
  return [...declared].flatMap((one) => {
    const faults: string[] = []
    const source = operations.get(one.source)
    if (source === undefined) faults.push(`it asks the operation "${one.source}", which no plugin brings`)
    else {
      if (source.method !== 'GET' || Object.keys(source.params).length > 0)
        faults.push(`${one.source} cannot be asked without more`)
      for (const name of Object.keys(one.query ?? {}))
        if (!(name in source.query)) faults.push(`"${name}" is no parameter of ${one.source}`)
      faults.push(...countFaults(one, source))
    }
    faults.push(...targetFaults(one, operations, pages))
    return faults.map((fault) => `attention "${one.id}": ${fault}`)
  })
}

function countFaults({ count, where = {}, filled }: AttentionDeclaration, source: Operation): readonly string[] {
  const counted = count === undefined ? undefined : withoutNull(memberAt(source.data, count))
  if (counted !== undefined && counted['type'] !== 'array')
    return counted['type'] === 'integer' || counted['type'] === 'number' ? [] : [`"${count}" is no number and no list`]
  const item = count === undefined ? itemOf(source) : counted?.['items']
  if (item === undefined) return [count === undefined ? `${source.id} answers no list` : `"${count}" is no member`]
  return [...Object.keys(where), ...(filled === undefined ? [] : [filled])].flatMap((name) =>
    memberAt(item, name) === undefined ? [`"${name}" is no member of what is counted`] : [],
  )
}

function targetFaults(
  { page, place }: AttentionDeclaration,
  operations: Operations,
  pages: ReadonlyMap<string, PageDeclaration>,
): readonly string[] {
  if (page === undefined) return place === 'navigation' ? ['it stands beside no page'] : []
  if (page.filter === undefined && ownPages.some(({ id }) => id === page.id)) return []
  const target = pages.get(page.id)
  if (target === undefined) return [`there is no page "${page.id}"`]
  const filters = target.kind === 'list' ? (target.filters ?? []).map(({ name }) => name) : []
  return Object.keys(page.filter ?? {}).flatMap((name) =>
    filters.includes(name) && name in (operations.get(target.source)?.query ?? {})
      ? []
      : [`"${name}" is no filter of "${page.id}"`],
  )
}
