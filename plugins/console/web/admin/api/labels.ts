import { type Callable, labels } from './operations.ts'

/** Something that an id names, as people call it. */
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

/** Several parts of a page share one question, so none of them cancels it. */
const { signal } = new AbortController()

/** Ids of one question. */
const mostIds = 200

interface Batch {
  readonly ids: Set<string>
  readonly names: Promise<ReadonlyMap<string, string>>
}

const open = new Map<string, Batch>()

/** The names of all ids of a kind that a page asks for at once, in one question. `null`: nobody tells its name. */
export async function nameOf(api: Asker, kind: string, id: string, language: string): Promise<string | null> {
  const key = `${language} ${kind}`
  const last = open.get(key)
  const batch = last !== undefined && last.ids.size < mostIds ? last : begun(api, kind, key)
  batch.ids.add(id)
  return (await batch.names).get(id) ?? null
}

function begun(api: Asker, kind: string, key: string): Batch {
  const ids = new Set<string>()
  const asked = new Promise((resolve) => setTimeout(resolve)).then(async () => {
    if (open.get(key)?.ids === ids) open.delete(key)
    const { items } = await api.call<{ items: readonly Label[] }>(labels, { query: { kind, ids: [...ids] }, signal })
    return new Map(items.map((label) => [String(label.id), label.name]))
  })
  const batch = { ids, names: asked }
  open.set(key, batch)
  return batch
}
