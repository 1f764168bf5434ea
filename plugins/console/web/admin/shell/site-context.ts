import { createContext, useContext } from 'react'
import type { Navigation } from '../api/page-types.ts'

/** Path of the back office without a trailing slash. */
export const base = new URL(document.baseURI).pathname.replace(/\/$/, '')

/** The site and the pages that the signed-in user may see. */
export const SiteContext = createContext<Navigation | undefined>(undefined)

export function useSite(): Navigation {
  const site = useContext(SiteContext)
  if (site === undefined) throw new Error('useSite needs a SiteContext around it')
  return site
}
