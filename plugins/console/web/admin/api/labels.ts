import { type Callable, labels } from './operations.ts'

/** An id with its display name. */
export interface Label {
  readonly id: string | number
  readonly name: string
}

interface Asker {
  call<T>(
    operation: Callable,
    input: { readonly query: Readonly<Record<string, string | readonly string[]>>; readonly signal: AbortSignal },
  ): Promise<T>
}

/** Several parts of a page share one call, so none of them cancels it. */
const { signal } = new AbortController()

/** Maximum number of ids per call. */
const maxIds = 200

interface Batch {
  readonly ids: Set<string>
  readonly names: Promise<ReadonlyMap<string, string>>
}

const open = new Map<string, Batch>()

/**
 * Returns the name of an id. All ids of a kind that a page needs together are read in one call. `null`: the name is
 * unknown.
 */
export async function nameOf(api: Asker, kind: string, id: string, language: string): Promise<string | null> {
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
