import type { DataOf } from '@plinth/client'
import { type Callable, labels } from './operations.ts'

/** An id with its display name. */
export type Label = DataOf<'getConsoleLabels'>['items'][number]

interface Asker {
  call<T>(
    operation: Callable,
    input: { readonly query: Readonly<Record<string, string | readonly string[]>>; readonly signal: AbortSignal },
  ): Promise<T>
}

/** A signal that is never aborted. Several parts of a page share one call, so none of them may cancel it. */
const { signal } = new AbortController()

/** Maximum number of ids in one call. */
const maxIds = 200

interface Batch {
  readonly ids: Set<string>
  readonly names: Promise<ReadonlyMap<string, string>>
}

const open = new Map<string, Batch>()

/**
 * Returns the name of an object by its id, or null if the name is unknown. All ids of a kind that a page requests at
 * the same time are sent in one call.
 */
export async function readLabelName(api: Asker, kind: string, id: string, language: string): Promise<string | null> {
  const key = `${language} ${kind}`
  const last = open.get(key)
  const batch = last !== undefined && last.ids.size < maxIds ? last : begun(api, kind, key)
  batch.ids.add(id)
  return (await batch.names).get(id) ?? null
}

function begun(api: Asker, kind: string, key: string): Batch {
  const ids = new Set<string>()
  const requested = new Promise((resolve) => setTimeout(resolve)).then(async () => {
    if (open.get(key)?.ids === ids) open.delete(key)
    const { items } = await api.call<{ items: readonly Label[] }>(labels, { query: { kind, ids: [...ids] }, signal })
    return new Map(items.map((label) => [String(label.id), label.name]))
  })
  const batch = { ids, names: requested }
  open.set(key, batch)
  return batch
}
