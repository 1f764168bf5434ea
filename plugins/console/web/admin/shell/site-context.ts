import { createContext, useContext } from 'react'
import type { Navigation } from '../api/page-types.ts'

/** Path below which the back office lies, without a slash at its end. */
export const base = new URL(document.baseURI).pathname.replace(/\/$/, '')

/** The site and its pages, as the person who is signed in may see them. */
export const SiteContext = createContext<Navigation | undefined>(undefined)

export function useSite(): Navigation {
  const site = useContext(SiteContext)
  if (site === undefined) throw new Error('useSite needs a SiteContext around it')
  return site
}
