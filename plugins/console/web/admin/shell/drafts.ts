import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { Store } from '../../app/store.ts'

/** Makes the browser ask for confirmation before unsaved changes are lost. */
const ask = (event: BeforeUnloadEvent) => event.preventDefault()

/** Number of unsaved changes per page. The numbers are lost when the browser page is closed. */
class UnsavedCounts extends Store<ReadonlyMap<string, number>> {
  change(pageId: string, count: number): void {
    if ((this.current().get(pageId) ?? 0) === count) return
    const others = [...this.current()].filter(([id]) => id !== pageId)
    this.set(new Map(count === 0 ? others : [...others, [pageId, count]]))
    if (this.current().size > 0) addEventListener('beforeunload', ask)
    else removeEventListener('beforeunload', ask)
  }
}

const unsaved = new UnsavedCounts(new Map())

export const setUnsaved = (pageId: string, count: number): void => unsaved.change(pageId, count)

export const useUnsaved = (): ReadonlyMap<string, number> => useSyncExternalStore(unsaved.subscribe, unsaved.current)

/**
 * Keeps unsaved input while its form is closed by a navigation such as Back, and across a reload of the page: after an
 * upgrade, a page must reload before a missing script loads. While the page reloads, the input is in the session
 * storage of the tab. It belongs to the user who typed it. It never contains secrets.
 */

const storageName = 'plinth.drafts'

interface Kept {
  readonly owner: number
  readonly drafts: Readonly<Record<string, unknown>>
}

/** Functions that return the input of each open form, by form name. */
const forms = new Map<string, () => unknown>()
let kept: Kept | undefined
let owner: number | undefined

/** Restores the input from before the reload, and stores the current input on unload. */
export function startDrafts(): void {
  const take = () => {
    const text = sessionStorage.getItem(storageName)
    sessionStorage.removeItem(storageName)
    return text
  }
  try {
    kept = JSON.parse(take() ?? 'null') ?? undefined
  } catch {
    // The browser has no session storage, so no input is kept across a reload.
    return
  }
  addEventListener('pagehide', () => {
    const drafts = { ...kept?.drafts, ...Object.fromEntries([...forms].map(([name, read]) => [name, read()])) }
    const typed = Object.entries(drafts).filter(([, draft]) => draft !== undefined)
    if (owner === undefined || typed.length === 0) return
    try {
      sessionStorage.setItem(storageName, JSON.stringify({ owner, drafts: Object.fromEntries(typed) }))
    } catch {
      // The storage is full, so the input is lost.
    }
  })
  // If the browser restored the page from its cache, the forms still contain their input, so the stored copy is
  // removed.
  addEventListener('pageshow', ({ persisted }) => persisted && take())
}

/** Sets the signed-in user. Drafts of another user are deleted. */
export function setDraftOwner(userId: number): void {
  owner = userId
  if (kept?.owner !== userId) kept = undefined
}

/** Deletes all drafts. Called on sign-out. */
export function forgetDrafts(): void {
  forms.clear()
  kept = undefined
}

/**
 * Registers a form. `read` returns its input as JSON without secrets, or `undefined` if there is none. Call the
 * returned function when the form is closed. Input that is then still unsaved is kept for `takeDraft`.
 */
export function keepDraft(name: string, read: () => unknown): () => void {
  forms.set(name, read)
  return () => {
    if (forms.get(name) !== read) return
    forms.delete(name)
    const draft = read()
    if (owner !== undefined) kept = { owner, drafts: { ...kept?.drafts, [name]: draft } }
  }
}

/** Returns the unsaved input of a form that was closed by a navigation or a reload, once. */
export function takeDraft<Draft>(name: string): Draft | undefined {
  const { [name]: draft, ...drafts } = kept?.drafts ?? {}
  if (kept !== undefined) kept = { ...kept, drafts }
  return draft as Draft | undefined
}

/** A text field that is kept like a form. An empty text is not kept. */
export function useKeptText(name: string): readonly [string, (text: string) => void] {
  const [text, setText] = useState(() => takeDraft<string>(name) ?? '')
  const latest = useRef(text)
  latest.current = text
  useEffect(() => keepDraft(name, () => latest.current || undefined), [name])
  return [text, setText]
}
