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
