import { useSyncExternalStore } from 'react'

/** How many changes each page holds that nobody has saved. They live as long as the browser's page. */
let counts: ReadonlyMap<string, number> = new Map()
const listeners = new Set<() => void>()

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The browser asks before all of it is lost. */
const ask = (event: BeforeUnloadEvent) => event.preventDefault()

export function setUnsaved(pageId: string, count: number): void {
  if ((counts.get(pageId) ?? 0) === count) return
  const others = [...counts].filter(([id]) => id !== pageId)
  counts = new Map(count === 0 ? others : [...others, [pageId, count]])
  if (counts.size > 0) addEventListener('beforeunload', ask)
  else removeEventListener('beforeunload', ask)
  for (const listener of listeners) listener()
}

export const useUnsaved = (): ReadonlyMap<string, number> => useSyncExternalStore(subscribe, () => counts)

/*
 * Keeps unsaved input across a reload of the page: after an upgrade a page must be loaded again before a
 * missing script comes. It is in the session storage of the tab from the moment when the page goes until it is back, and
 * belongs to the user who typed it. Secrets are never in it.
 */

const storageName = 'plinth.drafts'

interface Kept {
  readonly owner: number
  readonly drafts: Readonly<Record<string, unknown>>
}

/** Input of each open form, by the name of the form. */
const forms = new Map<string, () => unknown>()
let kept: Kept | undefined
let owner: number | undefined

/** Takes over what the page kept before it was loaded again, and keeps what is typed when it goes. */
export function startDrafts(): void {
  const take = () => {
    const text = sessionStorage.getItem(storageName)
    sessionStorage.removeItem(storageName)
    return text
  }
  try {
    kept = JSON.parse(take() ?? 'null') ?? undefined
  } catch {
    // A browser that keeps nothing.
    return
  }
  addEventListener('pagehide', () => {
    const drafts = { ...kept?.drafts, ...Object.fromEntries([...forms].map(([name, read]) => [name, read()])) }
    const typed = Object.entries(drafts).filter(([, draft]) => draft !== undefined)
    if (owner === undefined || typed.length === 0) return
    try {
      sessionStorage.setItem(storageName, JSON.stringify({ owner, drafts: Object.fromEntries(typed) }))
    } catch {
      // More than the browser keeps.
    }
  })
  // The page was not loaded again, but shown again as it was.
  addEventListener('pageshow', ({ persisted }) => persisted && take())
}

/** The user who is signed in. Drafts of another user are dropped. */
export function setDraftOwner(userId: number): void {
  owner = userId
  if (kept?.owner !== userId) kept = undefined
}

/** Drops all drafts: the user signs out. */
export function forgetDrafts(): void {
  forms.clear()
  kept = undefined
}

/** Registers a form. `read` returns what is typed in it, as JSON without secrets, or `undefined` for nothing. Call the result to unregister. */
export function keepDraft(name: string, read: () => unknown): () => void {
  forms.set(name, read)
  return () => {
    if (forms.get(name) === read) forms.delete(name)
  }
}

/** Returns the input of a form from before the reload, once. */
export function takeDraft<Draft>(name: string): Draft | undefined {
  const { [name]: draft, ...drafts } = kept?.drafts ?? {}
  if (kept !== undefined) kept = { ...kept, drafts }
  return draft as Draft | undefined
}
