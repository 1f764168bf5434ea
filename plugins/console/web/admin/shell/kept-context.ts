import { localStorageColorSchemeManager } from '@mantine/core'
import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from 'react'
import { LanguageChoice } from '../../text/language.ts'
import { UserPreferences } from './kept.ts'

export const UserPreferencesContext = createContext<UserPreferences | undefined>(undefined)

/** Returns the stored choices of this user in this browser. */
export function useUserPreferences() {
  const kept = useContext(UserPreferencesContext)
  if (kept === undefined) throw new Error('useKept needs a KeptContext around it')
  return { kept, ...useSyncExternalStore(kept.subscribe, kept.current) }
}

/**
 * Returns the stored choices of one user. The key contains the path of the product, because two products may share an
 * origin.
 */
export function usePreferencesOfUser(userId: number | undefined, base: string): UserPreferences {
  const key = `plinth.kept ${base} ${userId ?? ''}`
  const kept = useMemo(
    () => new UserPreferences(userId === undefined ? undefined : browserStorage(), key),
    [userId, key],
  )
  useEffect(() => {
    const onStorage = (event: StorageEvent) => {
      if (event.key === key) kept.reread()
    }
    addEventListener('storage', onStorage)
    return () => removeEventListener('storage', onStorage)
  }, [kept, key])
  return kept
}

/** Returns the local storage; undefined if the browser has none. */
function browserStorage(): Storage | undefined {
  try {
    return localStorage
  } catch {
    return undefined
  }
}

/** Returns the language that any user has chosen in this browser, or otherwise the language of the browser. */
export function createStoredLanguageChoice(base: string): LanguageChoice {
  const [storage, key] = [browserStorage(), `plinth.language ${base}`]
  const chosen = storage?.getItem(key) ?? undefined
  const languages = new LanguageChoice([...(chosen === undefined ? [] : [chosen]), ...navigator.languages])
  languages.subscribe(() => {
    try {
      storage?.setItem(key, languages.current())
    } catch {
      // The storage is full. The page still uses the chosen language.
    }
  })
  return languages
}

/** Stores the colour scheme: light, dark, or the scheme of the system. */
export const createStoredColourScheme = (base: string) =>
  localStorageColorSchemeManager({ key: `plinth.colours ${base}` })
