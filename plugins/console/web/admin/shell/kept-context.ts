import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from 'react'
import { Kept } from './kept.ts'

export const KeptContext = createContext<Kept | undefined>(undefined)

/** What this person keeps in this browser, and how to change it. */
export function useKept() {
  const kept = useContext(KeptContext)
  if (kept === undefined) throw new Error('useKept needs a KeptContext around it')
  return { kept, ...useSyncExternalStore(kept.subscribe, kept.current) }
}

/** Of one person at one product; two products may share an origin. */
export function useKeptOf(userId: number | undefined, base: string): Kept {
  const key = `plinth.kept ${base} ${userId ?? ''}`
  const kept = useMemo(() => new Kept(userId === undefined ? undefined : browserStorage(), key), [userId, key])
  useEffect(() => {
    const onStorage = (event: StorageEvent) => {
      if (event.key === key) kept.reread()
    }
    addEventListener('storage', onStorage)
    return () => removeEventListener('storage', onStorage)
  }, [kept, key])
  return kept
}

/** Absent where the browser keeps nothing. */
export function browserStorage(): Storage | undefined {
  try {
    return localStorage
  } catch {
    return undefined
  }
}
