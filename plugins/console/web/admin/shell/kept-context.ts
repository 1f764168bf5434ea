import { localStorageColorSchemeManager } from '@mantine/core'
import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from 'react'
import { LanguageChoice } from '../../text/language.ts'
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

/** What the browser asks for, unless somebody has chosen another language here before, whoever has signed in. */
export function keptLanguages(base: string): LanguageChoice {
  const [storage, key] = [browserStorage(), `plinth.language ${base}`]
  const chosen = storage?.getItem(key) ?? undefined
  const languages = new LanguageChoice([...(chosen === undefined ? [] : [chosen]), ...navigator.languages])
  languages.subscribe(() => {
    try {
      storage?.setItem(key, languages.current())
    } catch {
      // The browser keeps no more; the page has the language all the same.
    }
  })
  return languages
}

/** Light, dark, or as the system has it. */
export const keptColours = (base: string) => localStorageColorSchemeManager({ key: `plinth.colours ${base}` })
